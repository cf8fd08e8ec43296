"""The ways of OAuth in which a client can be authorized, as its user chooses them.

Spec: basic/authorization, extensions/auth
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from wigwag.client.authorization.assertions import AssertionSource, assertion_reader
from wigwag.client.authorization.flow_running import ReadAssertion, Steps
from wigwag.client.authorization.keys import (
    KeySource,
    SigningKey,
    assertion_signer,
    kept_proof_key,
    proof_maker,
    read_signing_key,
)
from wigwag.client.authorization.login import Login
from wigwag.client.authorization.oauth_authorizer import OAuthAuthorizer, Ready
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.client_authentication import SignAssertion
from wigwag.oauth.fetch_rules import Networks
from wigwag.oauth.flow import ClientAuthorization
from wigwag.oauth.obtaining import (
    ByAssertion,
    ByClientCredentials,
    ByIdentityProvider,
    ByUser,
    ClientSettings,
    Way,
)
from wigwag.oauth.registration import (
    ClientMetadata,
    PreRegistered,
    check_document_url,
    check_redirect_uri,
)
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.oauth.scopes import Scopes, join_scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.tokens import ID_TOKEN
from wigwag.oauth.urls import read_url
from wigwag.stores.contract import TokenStore

if TYPE_CHECKING:
    from wigwag.transports.document_fetching import DocumentFetcher
    from wigwag.transports.http_client_engine import TLS

__all__ = [
    "ClientCredentials",
    "EnterpriseManaged",
    "OAuth",
    "OAuthWay",
    "WorkloadIdentity",
]

DEFAULT_NAME: Final = "Wigwag"

CLIENT_CREDENTIALS: Final = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE_MANAGED: Final = "io.modelcontextprotocol/enterprise-managed-authorization"

_Text = str | Secret


class OAuthWay:
    """What all ways have in common.

    Args:
        settings: Who the client is, and what it may do.
        store: Where tokens are kept.
        allowed_hosts: Hosts that may be asked wherever they are.
        dpop: Whether tokens are bound to a key.
        key: What signs assertions.
        extensions: The extensions of the protocol that are made use of.
        read_assertion: Returns a token from elsewhere, where the way needs one.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        store: TokenStore | None,
        allowed_hosts: Sequence[str],
        dpop: bool = False,
        key: KeySource | None = None,
        extensions: tuple[str, ...] = (),
        read_assertion: ReadAssertion | None = None,
    ) -> None:
        if isinstance(allowed_hosts, str):
            raise TypeError("`allowed_hosts` is a list of hosts, not one text")
        _check_given(store, key)
        self._settings = settings
        self._store = store
        self._allowed_hosts = tuple(allowed_hosts)
        self._dpop = dpop
        self._key = key
        self._extensions = extensions
        self._read_assertion = read_assertion

    def authorizer(
        self, url: str, ssl: TLS | None = None, client_name: str | None = None
    ) -> OAuthAuthorizer:
        """Return what authorizes the requests of one client.

        Args:
            url: The URL of the MCP server.
            ssl: Whom to trust.
            client_name: What the client calls itself, if it was not given a name for this.

        Raises:
            ValueError: The URL cannot be used.
        """
        new_client(url, self._settings)  # what is wrong with either is told now
        get_ready = partial(self.ready, url, ssl, client_name)
        return OAuthAuthorizer(get_ready, extensions=self._extensions)

    async def ready(
        self, url: str, ssl: TLS | None = None, client_name: str | None = None
    ) -> Ready:
        """Read the keys, and return the flows for a server with what does their steps.

        Args:
            url: The URL of the MCP server.
            ssl: Whom to trust.
            client_name: What the client calls itself, if it was not given a name for this.

        Raises:
            ValueError: The URL cannot be used.
            AuthorizationFailed: A key or the store cannot be used.
        """
        if self._store is None:
            self._store = self._default_store()
        store = self._store
        settings = self._settings
        if client_name is not None and settings.client.client_name == DEFAULT_NAME:
            named = msgspec.structs.replace(settings.client, client_name=client_name)
            settings = msgspec.structs.replace(settings, client=named)
        proof = None
        if self._key is not None:
            settings = msgspec.structs.replace(settings, sign=await _signer(self._key))
        if self._dpop:
            proof = proof_maker(await kept_proof_key(store, url))
            settings = msgspec.structs.replace(settings, proof=proof)
        steps = self._steps(store, _Fetching(url, self._allowed_hosts, ssl).fetch)
        return Ready(new_client(url, settings), steps, proof)

    def _default_store(self) -> TokenStore:
        from wigwag.stores.memory_tokens import MemoryTokenStore  # noqa: PLC0415

        return MemoryTokenStore()

    def _steps(self, store: TokenStore, fetch: Callable[[HttpRequest], Any]) -> Steps:
        return Steps(store=store, fetch=fetch, read_assertion=self._read_assertion)

    def __repr__(self) -> str:
        """Its kind only."""
        return f"{type(self).__name__}(…)"


class OAuth(OAuthWay):
    """A user logs in, in a browser; `Client(url, auth="oauth")` means one with all its defaults.

    What is asked for, where, and who the client is at the authorization server, is all found out.
    Tokens are kept, so that the user is asked once and not at every start.

    Spec: basic/authorization

    Args:
        client_name: What the user is shown when asked; by default what the client calls itself
            (`Client(info=…)`).
        client_uri: A page about the client, to be shown, too.
        scopes: What is asked for in any case, beside what the server says that it needs.
        client_id: That of a client which was registered by hand.
        client_secret: Its secret, if it has one.
        issuer: The authorization server at which it was registered; by default the one that the
            MCP server names when it is first used.
        key: Its private key, if it proves who it is by signing: the text or the file of a PEM or
            JWK.
        client_metadata_url: The URL of the metadata document that is the id of the client, for
            authorization servers which take one.
        redirect_port: The port of this machine that the browser comes back to; by default any that
            is free.
        redirect_uris: Where it comes back to, if that is not this machine or its path is fixed.
        store: Where tokens are kept; by default in a file that only the user can read.
        login: Returns what asks the user, a new one each time; by default the browser is opened,
            and where there is none the URL is printed.
        dpop: Whether tokens are bound to a key, where the authorization server can do that.
        allowed_hosts: Hosts of authorization servers that may be at a private address though the
            MCP server is at a public one.
        timeout: How long the user may take, in seconds.

    Raises:
        TypeError: One of these is not of the type that it must be.
        ValueError: One of these cannot be used.
    """

    def __init__(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        *,
        client_name: str = DEFAULT_NAME,
        client_uri: str | None = None,
        scopes: str | Sequence[str] = (),
        client_id: str | None = None,
        client_secret: _Text | None = None,
        issuer: str | None = None,
        key: KeySource | None = None,
        client_metadata_url: str | None = None,
        redirect_port: int | None = None,
        redirect_uris: Sequence[str] = (),
        store: TokenStore | None = None,
        login: Callable[[], Login] | None = None,
        dpop: bool = False,
        allowed_hosts: Sequence[str] = (),
        timeout: float = 300.0,
    ) -> None:
        if redirect_port is not None:
            if redirect_uris:
                raise ValueError("give `redirect_port` or `redirect_uris`, not both")
            redirect_uris = (f"http://127.0.0.1:{redirect_port}/callback",)
        for uri in redirect_uris:
            check_redirect_uri(uri)
        if client_metadata_url is not None:
            check_document_url(client_metadata_url)
        if login is not None and not callable(login):
            raise TypeError(f"`login` is a function that returns a Login, not {login!r}")
        if not timeout > 0:
            raise ValueError("`timeout` is more than 0 seconds")
        super().__init__(
            ClientSettings(
                client=ClientMetadata(client_name=client_name, client_uri=client_uri),
                way=ByUser(tuple(redirect_uris)),
                given=_given(client_id, client_secret, issuer, redirect_uris, key=key),
                document_url=client_metadata_url,
                scopes=_scopes(scopes),
            ),
            store=store,
            allowed_hosts=allowed_hosts,
            dpop=dpop,
            key=key,
        )
        self._login = login
        self._port = redirect_port or 0
        self._timeout = timeout

    def _default_store(self) -> TokenStore:
        from wigwag.stores.file_tokens import FileTokenStore  # noqa: PLC0415

        return FileTokenStore()

    def _steps(self, store: TokenStore, fetch: Callable[[HttpRequest], Any]) -> Steps:
        login, patience = self._login, self._timeout
        if login is not None:
            return Steps(store=store, fetch=fetch, open_login=login, patience=patience)
        from wigwag.client.authorization.default_login import DefaultLogin  # noqa: PLC0415

        login = partial(DefaultLogin, self._port, timeout=patience)  # which says more of its end
        return Steps(store=store, fetch=fetch, open_login=login)


class ClientCredentials(OAuthWay):
    """The client acts for itself, with credentials that somebody has given to it.

    Spec: extensions/auth/oauth-client-credentials

    Args:
        client_id: Its id.
        client_secret: Its secret.
        key: In place of a secret, its private key: the text or the file of a PEM or JWK.
        issuer: The authorization server that gave it the credentials; by default the one that the
            MCP server names when it is first used.
        scopes: What is asked for in any case.
        store: Where tokens are kept; by default in memory.
        dpop: Whether tokens are bound to a key, where the authorization server can do that.
        allowed_hosts: Hosts of authorization servers that may be at a private address though the
            MCP server is at a public one.

    Raises:
        ValueError: There is neither a secret nor a key, or one too many.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: _Text | None = None,
        *,
        key: KeySource | None = None,
        issuer: str | None = None,
        scopes: str | Sequence[str] = (),
        store: TokenStore | None = None,
        dpop: bool = False,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        if (client_secret is None) == (key is None):
            raise ValueError("give ClientCredentials a `client_secret` or a `key`")
        super().__init__(
            _machine(ByClientCredentials(), client_id, client_secret, issuer, scopes, key=key),
            store=store,
            allowed_hosts=allowed_hosts,
            dpop=dpop,
            key=key,
            extensions=(CLIENT_CREDENTIALS,),
        )


class WorkloadIdentity(OAuthWay):
    """A JWT of the platform on which the client runs says which workload it is.

    Args:
        assertion: Where the JWT is: a `Path`, `FileAssertion` or `EnvironmentAssertion`, or a
            function that returns it, which may be `async` and may take the audience. It is read
            anew each time.
        client_id: The id of the client at the authorization server.
        client_secret: Its secret, if it has one.
        key: Its private key, if it has one.
        issuer: The authorization server; by default the one that the MCP server names.
        scopes: What is asked for in any case.
        store: Where tokens are kept; by default in memory.
        dpop: Whether tokens are bound to a key, where the authorization server can do that.
        allowed_hosts: Hosts of authorization servers that may be at a private address though the
            MCP server is at a public one.
    """

    def __init__(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        assertion: AssertionSource,
        *,
        client_id: str,
        client_secret: _Text | None = None,
        key: KeySource | None = None,
        issuer: str | None = None,
        scopes: str | Sequence[str] = (),
        store: TokenStore | None = None,
        dpop: bool = False,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        super().__init__(
            _machine(ByAssertion(), client_id, client_secret, issuer, scopes, key=key),
            store=store,
            allowed_hosts=allowed_hosts,
            dpop=dpop,
            key=key,
            read_assertion=assertion_reader(assertion),
        )


class EnterpriseManaged(OAuthWay):
    """The identity provider of an enterprise speaks for a user who is logged in there.

    The user is never sent to the authorization server of the MCP server.

    Spec: extensions/auth/enterprise-managed-authorization

    Args:
        identity_provider: The issuer of the identity provider, a URL.
        assertion: What it said when the user logged in, an ID token: a `Path`,
            `FileAssertion` or `EnvironmentAssertion`, or a function that returns it, which may be
            `async`. It is read anew each time.
        client_id: The id of the client at the authorization server of the MCP server.
        client_secret: Its secret there, if it has one.
        key: Its private key there, if it has one.
        provider_client_id: Its id at the identity provider; by default the same.
        provider_client_secret: Its secret at the identity provider, if it has one.
        provider_token_endpoint: The token endpoint there; by default its metadata says where.
        subject_token_type: The kind of the assertion.
        issuer: The authorization server; by default the one that the MCP server names.
        scopes: What is asked for in any case.
        store: Where tokens are kept; by default in memory.
        dpop: Whether tokens are bound to a key, where the authorization server can do that.
        allowed_hosts: Hosts that may be at a private address though the MCP server is at a public
            one.

    Raises:
        ValueError: The identity provider is not reached by https.
    """

    def __init__(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        identity_provider: str,
        *,
        assertion: AssertionSource,
        client_id: str,
        client_secret: _Text | None = None,
        key: KeySource | None = None,
        provider_client_id: str | None = None,
        provider_client_secret: _Text | None = None,
        provider_token_endpoint: str | None = None,
        subject_token_type: str = ID_TOKEN,
        issuer: str | None = None,
        scopes: str | Sequence[str] = (),
        store: TokenStore | None = None,
        dpop: bool = False,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        way = ByIdentityProvider(
            issuer=identity_provider,
            client=PreRegistered(
                client_id=provider_client_id or client_id,
                client_secret=_secret(provider_client_secret),
            ),
            token_endpoint=provider_token_endpoint,
            subject_token_type=subject_token_type,
        )
        super().__init__(
            _machine(way, client_id, client_secret, issuer, scopes, key=key),
            store=store,
            allowed_hosts=allowed_hosts,
            dpop=dpop,
            key=key,
            extensions=(ENTERPRISE_MANAGED,),
            read_assertion=assertion_reader(assertion),
        )


def new_client(url: str, settings: ClientSettings) -> ClientAuthorization:
    """Return the flows for a server.

    Raises:
        ValueError: The URL cannot be used, or something in the settings.
    """
    try:
        return ClientAuthorization(url, settings, entropy=secrets.token_bytes)
    except ValueError as error:
        raise ValueError(f"`auth` cannot be used with this URL: {error}") from None


class _Fetching:
    """Makes requests, to where the MCP server can be expected to point to."""

    def __init__(self, url: str, hosts: Sequence[str], ssl: TLS | None) -> None:
        self._server = read_url(url)
        self._hosts = hosts
        self._ssl = ssl
        self._fetcher: DocumentFetcher | None = None

    async def fetch(self, request: HttpRequest) -> HttpResponse:
        fetcher = self._fetcher
        if fetcher is None:
            from wigwag.transports.document_fetching import (  # noqa: PLC0415
                DocumentFetcher,
                addresses_of,
            )

            addresses = await addresses_of(self._server.host, self._server.port)
            networks = Networks.around(self._server, addresses, self._hosts)
            fetcher = DocumentFetcher(networks=networks, ssl=self._ssl)
            if addresses:  # else it may have some the next time
                self._fetcher = fetcher
        return await fetcher.fetch(request)


async def _signer(key: KeySource) -> SignAssertion:
    """Return what signs assertions.

    Raises:
        AuthorizationFailed: The key cannot be read, or used.
    """
    try:
        return assertion_signer(await read_signing_key(key))
    except ValueError as error:
        raise AuthorizationFailed(
            f"the private key cannot be used: {error}", advice="give another one as `key`"
        ) from None


def _machine(
    way: Way,
    client_id: str,
    client_secret: _Text | None,
    issuer: str | None,
    scopes: str | Sequence[str],
    *,
    key: KeySource | None,
) -> ClientSettings:
    """Return the settings of a client which somebody has registered, and which asks no user."""
    return ClientSettings(
        client=ClientMetadata(client_name=client_id),
        way=way,
        given=_given(client_id, client_secret, issuer, (), key=key),
        may_register=False,
        scopes=_scopes(scopes),
    )


def _given(
    client_id: str | None,
    client_secret: _Text | None,
    issuer: str | None,
    redirect_uris: Sequence[str],
    *,
    key: KeySource | None,
) -> PreRegistered | None:
    if client_id is None:
        if client_secret is not None:
            raise ValueError("a `client_secret` belongs to a `client_id`: give both")
        if issuer is not None:
            raise ValueError("an `issuer` is where a `client_id` is registered: give both")
        return None
    if issuer is not None:
        try:
            read_url(issuer)
        except ValueError as error:
            raise ValueError(f"{issuer!r} is no issuer: {error}") from None
    return PreRegistered(
        client_id=client_id,
        client_secret=_secret(client_secret),
        issuer=issuer,
        token_endpoint_auth_method=None if key is None else "private_key_jwt",
        redirect_uris=tuple(redirect_uris),
    )


def _secret(text: Any) -> Secret | None:
    if text is not None and not isinstance(text, str | Secret):
        raise TypeError(f"a secret is text, not {type(text).__name__}")
    return Secret(text) if isinstance(text, str) else text


def _check_given(store: Any, key: Any) -> None:
    """Refuse at once what could only fail later, where nobody knows any more where it is from."""
    if store is not None and not all(hasattr(store, name) for name in ("load", "save", "lock")):
        raise TypeError(f"`store` is a TokenStore, such as FileTokenStore(…), not {store!r}")
    kinds = (str, bytes, os.PathLike, Mapping, SigningKey)
    if key is not None and not isinstance(key, kinds):
        raise TypeError(f"`key` is the file or the text of a PEM or JWK, not {type(key).__name__}")


def _scopes(given: str | Sequence[str]) -> Scopes:
    wanted = given.split() if isinstance(given, str) else list(given)
    scopes = join_scopes(wanted)
    if len(scopes) != len(set(wanted)):
        raise ValueError(f"these are no scopes: {sorted(set(wanted) - set(scopes))}")
    return scopes
