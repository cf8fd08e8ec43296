"""How a server is protected over HTTP: whose tokens it takes, and what they must allow.

Spec: basic/authorization
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from wigwag.oauth.resource_documents import check_resource
from wigwag.oauth.scopes import OFFLINE_ACCESS, join_scopes
from wigwag.oauth.urls import read_url
from wigwag.server.authorization.contract import TokenVerifier
from wigwag.server.authorization.function_verifier import VerifyFunction
from wigwag.server.authorization.proof_checking import DPoPRules
from wigwag.server.authorization.verifiers import verifiers_of

__all__ = ["Auth", "Dpop", "Protection"]

Dpop: TypeAlias = Literal["optional", "required"] | DPoPRules
"""Whether tokens may be, or must be, bound to a key of their client (RFC 9449), and how."""

Verifies: TypeAlias = str | TokenVerifier | VerifyFunction
"""An issuer, a verifier, or a function that is called with a token."""


class Protection:
    """How a server is protected over HTTP, for `Server(auth=…)`.

    >>> Protection("https://login.example.com", scopes=["tickets:read"])
    Protection('https://login.example.com')

    Over other transports it does nothing: there the client is a program of whoever started the
    server.

    Args:
        *verifiers: Whose tokens are taken: the URL of an issuer, as text, whose JWTs are verified
            with the keys that it publishes; a `TokenVerifier`; or a function that is called with a
            token and returns a `Principal`, or `None` if it does not know the token. Of several,
            each is asked until one knows the token.
        resource: The URL of the endpoint as clients know it, which tokens must be meant for. It
            may be left out where that follows from the request: with the port that it listens on
            and a `Host` that is checked, as on a loopback address or with `allowed_hosts`.
        authorization_servers: Where clients get tokens, as issuers; by default those of the
            verifiers that have one.
        scopes: What every request must have, all of it.
        scope_implies: Scopes that include others: `{"admin": ["write"], "write": ["read"]}`.
        scopes_supported: What clients ask for at first; by default `scopes`. Few are best: what
            else a feature needs, they ask for when they use it.
        resource_name: What people call the server.
        documentation: The URL of a page for developers.
        dpop: Whether tokens may be bound to a key of their client (`optional`) or must be
            (`required`); or `DPoPRules`, which say more. One that is bound always needs a proof.
        anonymous: Whether requests without a token are served as well, by what needs neither scopes
            nor roles. `Context.principal` is `None` then.

    Raises:
        TypeError: Something is not of the type that it must be.
        ValueError: Nobody verifies tokens, or a URL or a scope is none.

    Spec: basic/authorization
    """

    def __init__(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        *verifiers: Verifies,
        resource: str | None = None,
        authorization_servers: Sequence[str] = (),
        scopes: Sequence[str] = (),
        scope_implies: Mapping[str, Sequence[str]] | None = None,
        scopes_supported: Sequence[str] | None = None,
        resource_name: str | None = None,
        documentation: str | None = None,
        dpop: Dpop = "optional",
        anonymous: bool = False,
    ) -> None:
        if not isinstance(dpop, DPoPRules) and dpop not in ("optional", "required"):
            raise ValueError(f"`dpop` is 'optional', 'required' or DPoPRules, not {dpop!r}")
        if resource is not None:
            if not isinstance(resource, str):
                raise TypeError(f"`resource` is a URL, as text, not {resource!r}")
            check_resource(resource)
        self.resource = resource
        self.scopes = _scopes("scopes", scopes)
        self.implied = _closed(scope_implies or {})
        """For each scope that includes others, all of them."""
        self.scopes_supported = (
            self.scopes
            if scopes_supported is None
            else _scopes("scopes_supported", scopes_supported)
        )
        self.resource_name = resource_name
        self.documentation = documentation
        self.dpop = dpop if isinstance(dpop, DPoPRules) else DPoPRules(required=dpop == "required")
        self.anonymous = anonymous
        self.verifiers = verifiers_of([_verifier(each) for each in verifiers])
        listed = [_issuer(each) for each in _texts("authorization_servers", authorization_servers)]
        self.authorization_servers = tuple(dict.fromkeys(listed or _issuers(self.verifiers)))
        """Where clients get tokens; none if nobody knows, and then clients are told nothing."""

    def __repr__(self) -> str:
        """Where tokens come from; nothing that is secret."""
        return f"Protection({', '.join(map(repr, self.authorization_servers))})"

    @staticmethod
    def of(auth: Auth) -> Protection:
        """Return what is meant by the `auth` of a server.

        Raises:
            TypeError: It is nothing of the kind.
            ValueError: It cannot be used.
        """
        if isinstance(auth, Protection):
            return auth
        if isinstance(auth, list | tuple):
            return Protection(*auth)
        return Protection(auth)  # type: ignore[arg-type]  # what else it may be is refused there

    def extended(self, scopes: frozenset[str]) -> frozenset[str]:
        """Return scopes with all that they include."""
        if self.implied.keys().isdisjoint(scopes):
            return scopes
        return scopes.union(*(self.implied.get(scope, ()) for scope in scopes))


Auth: TypeAlias = Verifies | Sequence[Verifies] | Protection
"""What `Server(auth=…)` takes."""


def _verifier(given: Any) -> Any:
    if not isinstance(given, str):
        return given
    from wigwag.server.authorization.jwt_verifier import JwtVerifier  # noqa: PLC0415 - not all do

    return JwtVerifier(_issuer(given))


def _issuer(text: str) -> str:
    try:
        url = read_url(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no issuer: {error}") from None
    if url.query or url.fragment:
        raise ValueError(f"{text!r} is no issuer: it has a query or a fragment")
    return text


def _issuers(verifiers: Iterable[TokenVerifier]) -> list[str]:
    found = (getattr(verifier, "issuer", None) for verifier in verifiers)
    # One that is no URL is nowhere that a client could go.
    return [issuer for issuer in found if isinstance(issuer, str) and "://" in issuer]


def _texts(setting: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"`{setting}` are several: write [{given!r}]")
    texts = tuple(given)
    for each in texts:
        if not isinstance(each, str):
            raise TypeError(f"`{setting}` are text, not {each!r}")
    return texts


def _scopes(setting: str, given: Any) -> tuple[str, ...]:
    texts = _texts(setting, given)
    scopes = join_scopes(texts)
    for each in texts:
        if each not in scopes:
            raise ValueError(f"`{setting}`: {each!r} is no scope, or there are too many")
        if each == OFFLINE_ACCESS:
            raise ValueError(
                f"`{setting}`: whether {OFFLINE_ACCESS} may be asked for is between clients and "
                "their authorization server; leave it out"
            )
    return scopes


def _closed(implied: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    """Return for each scope all that it includes, however indirectly."""
    direct = {
        scope: _scopes(f"scope_implies[{scope!r}]", others) for scope, others in implied.items()
    }
    closed = {}
    for scope in direct:
        found: set[str] = set()
        ahead = [scope]
        while ahead:
            for other in direct.get(ahead.pop(), ()):
                if other not in found:
                    found.add(other)
                    ahead.append(other)
        closed[scope] = frozenset(found)
    return closed
