"""Logging in to servers and out of them, and what is kept of that, without a client.

Spec: basic/authorization
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import msgspec

from wigwag.client.authorization.flow_running import FlowRun, Steps
from wigwag.client.authorization.keys import proof_key_key
from wigwag.client.authorization.oauth import OAuth, OAuthWay
from wigwag.client.authorization.oauth_authorizer import Ready
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.scopes import Scopes
from wigwag.oauth.steps import Flow
from wigwag.oauth.storage import (
    KnownServer,
    Tokens,
    known_server_key,
    load_known_server,
    load_registration,
    load_tokens,
)
from wigwag.oauth.urls import Url, canonical_resource, read_url
from wigwag.stores.contract import TokenStore

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["Account", "authorization_status", "log_in", "log_out"]

_T = TypeVar("_T")

# Changes nothing anywhere, and is refused by every server that wants a token for anything.
_PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept about the log-in to one server. Nothing of it is secret."""

    server: str
    """The URL of the server, without its query."""

    issuer: str
    """The authorization server."""

    client_id: str | None
    """Who the client is there."""

    is_logged_in: bool
    """Whether there are tokens, good ones or not."""

    scopes: Scopes = ()
    """What they allow, as far as it is known."""

    token_type: Literal["Bearer", "DPoP"] | None = None
    """`DPoP` if they are bound to a key."""

    expires_at: float | None = None
    """When the access token expires, in seconds since 1970; `None` if the server did not say."""

    can_refresh: bool = False
    """Whether another one can be got without the user."""

    def needs_user(self, now: float) -> bool:
        """Tell whether the user has to log in before the server can be used.

        Args:
            now: Seconds since 1970.
        """
        has_expired = self.expires_at is not None and self.expires_at <= now
        return not self.is_logged_in or (has_expired and not self.can_refresh)


async def log_in(
    url: str, auth: OAuthWay | Literal["oauth"] | None = None, *, ssl: TLS | None = None
) -> Account:
    """Log in to a server now, whatever is kept, and keep the tokens for the clients that follow.

    Args:
        url: The URL of the MCP server.
        auth: How; by default `OAuth()`: the user logs in, in a browser.
        ssl: Whom to trust: a context, or a file with certificates.

    Raises:
        TypeError: `auth` is a token or a key, with which nobody logs in.
        ValueError: The URL cannot be used.
        AuthorizationFailed: It did not work; the kinds of it say why.
    """
    ready = await _way_of(auth).ready(_checked(url), ssl)
    challenges = await _challenges_of(url, ready.steps)
    await _run(ready, ready.client.log_in(challenges, time.time()))
    (account,) = await authorization_status(url, store=ready.steps.store)
    return account


async def log_out(
    url: str,
    auth: OAuthWay | Literal["oauth"] | None = None,
    *,
    forget_client: bool = False,
    ssl: TLS | None = None,
) -> bool:
    """Forget the tokens for a server, and tell the authorization server so.

    Args:
        url: The URL of the MCP server.
        auth: How the client was authorized; by default `OAuth()`.
        forget_client: Also forget all else that is kept about the server: how the client has
            registered itself with the authorization server, and the key of its tokens.
        ssl: Whom to trust: a context, or a file with certificates.

    Returns:
        Whether there were any.

    Raises:
        TypeError: `auth` is a token or a key, with which nobody logs in.
        ValueError: The URL cannot be used.
        AuthorizationFailed: The authorization server could not be told. The tokens are forgotten
            all the same.
    """
    ready = await _way_of(auth).ready(_checked(url), ssl)
    before = await authorization_status(url, store=ready.steps.store)
    try:
        await _run(ready, ready.client.log_out(forget_client=forget_client))
    finally:
        if forget_client:
            for key in (known_server_key(read_url(url)), proof_key_key(url)):
                await ready.steps.store.save(key, None)
    return any(account.is_logged_in for account in before)


async def authorization_status(
    url: str | None = None, *, store: TokenStore | None = None
) -> tuple[Account, ...]:
    """Return what is kept of log-ins; nobody is asked, and nothing is changed.

    Args:
        url: The URL of an MCP server; by default, all that are known.
        store: Where to look; by default where `OAuth()` keeps tokens.

    Returns:
        One for each server, in the order of their URLs; none for a server that nothing is known of.

    Raises:
        ValueError: The URL cannot be used.
        AuthorizationFailed: The store cannot be used.
    """
    if store is None:
        from wigwag.stores.file_tokens import FileTokenStore  # noqa: PLC0415 - not for the others

        store = FileTokenStore()
    servers = [read_url(_checked(url))] if url is not None else await _servers_in(store)
    steps = Steps(store=store, fetch=_fetch_nothing)
    found = [await FlowRun(steps).run(_account_of(server)) for server in servers]
    return tuple(account for account in found if account is not None)


def _way_of(auth: Any) -> OAuthWay:
    if auth is None or auth == "oauth":
        return OAuth()
    if not isinstance(auth, OAuthWay):
        raise TypeError(
            '`auth` is "oauth", an OAuth(), or another way of OAuth, not '
            f"{'a token' if isinstance(auth, str) else type(auth).__name__}"
        )
    return auth


def _checked(url: Any) -> str:
    if not isinstance(url, str):
        raise TypeError(f"the URL of the server is text, not {type(url).__name__}")
    try:
        read_url(url)
    except ValueError as error:
        raise ValueError(f"the URL of the server cannot be used: {error}") from None
    return url


async def _servers_in(store: TokenStore) -> list[Url]:
    prefix = known_server_key(read_url("https://a.example")).removesuffix("https://a.example")
    servers = []
    for key in sorted(await store.keys()):
        if key.startswith(prefix):
            try:
                servers.append(read_url(key.removeprefix(prefix)))
            except ValueError:  # another version has its own keys
                continue
    return servers


def _account_of(server: Url) -> Flow[Account | None]:
    known = yield from load_known_server(server)
    if known is None:
        return None
    issuer = known.authorization_server.issuer
    tokens = yield from load_tokens(issuer, known.resource)
    registration = yield from load_registration(issuer)
    client_id = known.client_id if registration is None else registration.client_id
    return _described(server, known, tokens, client_id)


def _described(
    server: Url, known: KnownServer, tokens: Tokens | None, client_id: str | None
) -> Account:
    account = Account(
        server=canonical_resource(server),
        issuer=known.authorization_server.issuer,
        client_id=client_id,
        is_logged_in=tokens is not None,
    )
    if tokens is None:
        return account
    return msgspec.structs.replace(
        account,
        client_id=tokens.client_id,
        scopes=tokens.scopes,
        token_type=tokens.token_type,
        expires_at=tokens.expires_at,
        can_refresh=tokens.refresh_token is not None,
    )


async def _challenges_of(url: str, steps: Steps) -> tuple[str, ...]:
    """Return what a server says that it wants; if nothing, that is looked for elsewhere."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    try:
        response = await steps.fetch(HttpRequest("POST", url, headers, _PING))
    except AuthorizationFailed:
        return ()
    return tuple(response.values("www-authenticate")) if response.status in (401, 403) else ()


async def _run(ready: Ready, flow: Flow[_T]) -> _T:
    async with ready.turn():
        return await FlowRun(ready.steps).run(flow)


async def _fetch_nothing(request: HttpRequest) -> HttpResponse:
    raise AssertionError("looking at what is kept asks nobody")
