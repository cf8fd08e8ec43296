"""What is kept between one run and the next, and under which keys.

Registrations are kept by the issuer that made them, tokens by issuer and resource: neither is ever
shown to anyone else. Times are absolute, because a lifetime means nothing after a restart.
Spec: basic/authorization/client-registration#authorization-server-binding
"""

from __future__ import annotations

from math import inf
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.scopes import Scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.steps import Flow, load, save
from wigwag.oauth.urls import Url, canonical_resource

__all__ = [
    "KnownServer",
    "Registration",
    "RegistrationKind",
    "Tokens",
    "client_key",
    "forget_registration",
    "forget_tokens",
    "keep_known_server",
    "keep_registration",
    "keep_tokens",
    "known_server_key",
    "load_known_server",
    "load_registration",
    "load_tokens",
    "registration_key",
    "tokens_key",
]

RegistrationKind: TypeAlias = Literal["pre-registered", "metadata-document", "dynamic"]

# A token is renewed this long before it expires: a request takes time, and clocks differ.
_LEEWAY_SECONDS: Final = 30.0


class Registration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who this client is at one authorization server."""

    issuer: str
    kind: RegistrationKind
    client_id: str
    client_secret: Secret | None = None
    client_secret_expires_at: float | None = None
    """In seconds since 1970; `None` if never."""
    token_endpoint_auth_method: str | None = None
    """How it proves who it is at the token endpoint, if that was agreed upon."""
    redirect_uris: tuple[str, ...] = ()
    scopes: Scopes = ()
    """What it was registered to ask for."""

    def has_expired(self, now: float) -> bool:
        """Tell whether its secret is no longer good."""
        return self.client_secret_expires_at is not None and self.client_secret_expires_at <= now


class Tokens(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an authorization server issued for one resource."""

    issuer: str
    resource: str
    client_id: str
    """Whom they were issued to: no other client can refresh them."""
    access_token: Secret
    token_type: Literal["Bearer", "DPoP"] = "Bearer"
    expires_at: float | None = None
    """In seconds since 1970; `None` if the server did not say: good until it is refused."""
    refresh_token: Secret | None = None
    scopes: Scopes = ()
    """What it allows, as far as it is known."""
    requested_scopes: Scopes = ()

    @property
    def fresh_until(self) -> float:
        """Until when the access token is worth sending; `inf` if that is not known."""
        return inf if self.expires_at is None else self.expires_at - _LEEWAY_SECONDS

    def is_fresh(self, now: float) -> bool:
        """Tell whether the access token is worth sending."""
        return now < self.fresh_until

    def has_expired(self, now: float) -> bool:
        """Tell whether the access token is certainly no longer good."""
        return self.expires_at is not None and self.expires_at <= now


class KnownServer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found out about an MCP server, so that a restart need not find it out again."""

    resource: str
    authorization_server: AuthorizationServer
    client_id: str | None = None
    """The client that was last used there."""


def _hide(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError


def _show(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise NotImplementedError


_T = TypeVar("_T")

_encode: Final = msgspec.json.Encoder(enc_hook=_hide).encode
_known_servers: Final = msgspec.json.Decoder(KnownServer, dec_hook=_show)
_registrations: Final = msgspec.json.Decoder(Registration, dec_hook=_show)
_tokens: Final = msgspec.json.Decoder(Tokens, dec_hook=_show)


def known_server_key(server: Url) -> str:
    """Return where it is kept what is known about an MCP server."""
    return f"server {canonical_resource(server)}"


def registration_key(issuer: str) -> str:
    """Return where the registration with an authorization server is kept."""
    return f"registration {issuer}"


def client_key(issuer: str, client_id: str) -> str:
    """Return where it is kept how one client was registered, also when there is a later one."""
    return f"client {issuer} {client_id}"


def tokens_key(issuer: str, resource: str) -> str:
    """Return where tokens are kept."""
    return f"tokens {issuer} {resource}"


def load_known_server(server: Url) -> Flow[KnownServer | None]:
    """Look up what is known about an MCP server."""
    return (yield from _load(known_server_key(server), _known_servers))


def keep_known_server(server: Url, known: KnownServer) -> Flow[None]:
    """Keep what was found out about an MCP server."""
    yield from save(known_server_key(server), _encode(known))


def load_registration(issuer: str, client_id: str | None = None) -> Flow[Registration | None]:
    """Look up the registration with an authorization server; never one with another.

    Args:
        issuer: The authorization server.
        client_id: Which one; by default the latest. Tokens can be refreshed by none but the client
            that they were issued to, and many MCP servers may have the same authorization server.
    """
    key = registration_key(issuer) if client_id is None else client_key(issuer, client_id)
    found = yield from _load(key, _registrations)
    if found is None or found.issuer != issuer or client_id not in (None, found.client_id):
        return None
    return found


def keep_registration(registration: Registration) -> Flow[None]:
    """Keep a registration, as the latest; earlier ones stay."""
    issuer, value = registration.issuer, _encode(registration)
    yield from save(client_key(issuer, registration.client_id), value)
    yield from save(registration_key(issuer), value)


def forget_registration(issuer: str, client_id: str | None = None) -> Flow[None]:
    """Forget a registration with an authorization server; tokens stay.

    Args:
        issuer: The authorization server.
        client_id: Which one; by default it is only forgotten which one is the latest.
    """
    if client_id is not None:
        yield from save(client_key(issuer, client_id), None)
        latest = yield from load_registration(issuer)
        if latest is not None and latest.client_id != client_id:
            return
    yield from save(registration_key(issuer), None)


def load_tokens(issuer: str, resource: str) -> Flow[Tokens | None]:
    """Look up tokens; never those of another issuer or for another resource."""
    found = yield from _load(tokens_key(issuer, resource), _tokens)
    if found is None or (found.issuer, found.resource) != (issuer, resource):
        return None
    return found


def keep_tokens(tokens: Tokens) -> Flow[None]:
    """Keep tokens."""
    yield from save(tokens_key(tokens.issuer, tokens.resource), _encode(tokens))


def forget_tokens(issuer: str, resource: str) -> Flow[None]:
    """Forget tokens; the registration stays."""
    yield from save(tokens_key(issuer, resource), None)


def _load(key: str, decoder: msgspec.json.Decoder[_T]) -> Flow[_T | None]:
    """Look something up; what a broken disk or another version left there counts as nothing."""
    value = yield from load(key)
    if value is None:
        return None
    try:
        return decoder.decode(value)
    except (msgspec.MsgspecError, NotImplementedError, UnicodeDecodeError, RecursionError):
        return None
