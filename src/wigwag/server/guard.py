"""Lets requests over HTTP in that bring a good token, and tells the others how to get one.

What is public comes before: pages, health, and the document in which clients read where tokens
come from. Which URL a server has, and so what tokens must be meant for, is said by `resource`, or
follows from the request: never from a `Host` that nobody has checked.

Spec: basic/authorization#access-token-usage
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from time import monotonic
from typing import Any, Final

import msgspec

from wigwag.bindings.header_values import decode_header_value
from wigwag.bindings.http_headers import MCP_METHOD, MCP_NAME, RequestHeaders
from wigwag.jsonrpc.codec import UNDECODABLE, encode_error
from wigwag.jsonrpc.codes import INTERNAL_ERROR, INVALID_REQUEST
from wigwag.oauth.credentials import Scheme
from wigwag.oauth.resource_documents import create_resource_document
from wigwag.oauth.scopes import Scopes, join_scopes
from wigwag.oauth.urls import read_url
from wigwag.runtime.permits import NOBODY, PERMIT, Permit
from wigwag.server.authorization.authenticator import Authenticator
from wigwag.server.authorization.contract import VerifiedToken
from wigwag.server.authorization.proof_checking import ProofChecker
from wigwag.server.authorization.refusals import AuthenticationRefused
from wigwag.server.protection import Protection
from wigwag.stores.contract import ReplayStore
from wigwag.transports.asgi import (
    Answer,
    BodyTooLarge,
    ClientGone,
    Headers,
    Receive,
    Scope,
    read_body,
)

__all__ = ["WELL_KNOWN", "Guard", "ScopesOf"]

_logger = logging.getLogger("wigwag.http")

_HOST: Final = b"host"

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"

ScopesOf = Callable[[str, Any], Iterable[str]]
"""Returns what a request needs, by its method and by the name or URI that it is about."""

_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403

# What clients begin with: without a token, or with a proof for which they had no nonce.
_ORDINARY: Final = (None, "use_dpop_nonce")

# A body that is looked at before anybody knows who sends it, to tell what the request will need.
_MAX_GLANCE_BYTES: Final = 64 * 1024
_MAX_REMEMBERED: Final = 1024
# The same complaint is in the log once in so many seconds.
_QUIET_SECONDS: Final = 10.0

_TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    503: "Service Unavailable",
}

# Any page may read what anybody may; it holds no secret.
_READABLE: Final[Headers] = ((b"access-control-allow-origin", b"*"),)
_METADATA_PREFLIGHT: Final[Headers] = (
    *_READABLE,
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"86400"),
)


_number: Final = re.compile(r"[0-9]+")


class Place(msgspec.Struct, frozen=True):
    """Which server a request is for, as its clients know it."""

    resource: str
    """What tokens must be meant for."""

    metadata: str | None
    """Where clients read where tokens come from."""

    url: str
    """What comes before the path of the application, in URLs of clients."""


class Guard:
    """Guards the application of a server.

    Args:
        protection: What is asked of requests.
        name: The name of the server, for the log.
        path: The path of the endpoint, below the prefix that the application is mounted at.
        ports: The ports that are listed with the hosts of the server.
        scopes_of: Returns what a request needs.
        replays: Where used proofs are remembered; by default in memory.
    """

    def __init__(
        self,
        protection: Protection,
        name: str,
        path: str,
        ports: Iterable[int],
        scopes_of: ScopesOf,
        replays: ReplayStore | None = None,
    ) -> None:
        self._protection = protection
        self._name = name
        self._path = path
        self._ports = frozenset(ports)
        self._scopes_of = scopes_of
        self._authenticator = Authenticator(
            protection.verifiers, proofs=ProofChecker(protection.dpop, replays)
        )
        self._required = frozenset(protection.scopes)
        self._places: dict[tuple[Any, ...], Place] = {}
        # For each good token, as long as it is the same object, what follows from it.
        self._permits: dict[tuple[int, str], tuple[VerifiedToken, Permit]] = {}
        self._complaints: dict[str, float] = {}
        self._anonymous: dict[Place, Permit] = {}
        self.is_told_elsewhere = False
        """Whether the document is served at the origin as well, or its lack is in the log."""

    # --- who may go on

    async def admit(
        self,
        scope: Scope,
        headers: RequestHeaders,
        path: str,
        receive: Receive,
        answer: Answer,
    ) -> bool:
        """Tell whether a request may be served; one that may not has been answered.

        Args:
            scope: The request; who sends it is in it afterwards.
            headers: Its headers.
            path: Which endpoint it is for, below the prefix of the application.
            receive: Where its body comes from.
            answer: The answer to it.
        """
        host = headers.values.get(_HOST, b"")
        place = self._place_of(scope, host, scope.get("root_path", ""), path)
        if place is None:
            await self._refuse_host(headers, answer)
            return False
        try:
            permit = await self._permit_for(scope, headers, place)
        except AuthenticationRefused as refusal:
            await self._refuse(refusal, place, scope, headers, receive, answer)
            return False
        except Exception:
            _logger.exception("%s cannot tell whether a token is good", self._name)
            reason = "Internal error: the token could not be verified; the server's log says more"
            await answer.whole(500, encode_error(None, INTERNAL_ERROR, reason))
            return False
        principal = permit.principal
        if principal is not None and not self._required <= principal.scopes:
            needed = await self._needed_by(scope, headers, receive)
            status, lines = permit.refuse(needed)
            self._complain(f"a token without the scopes {' '.join(needed)!r}", scope)
            reason = f"Forbidden: this needs the scopes {' '.join(needed)!r}"
            await answer.whole(status, encode_error(None, INVALID_REQUEST, reason), lines)
            return False
        scope[PERMIT] = permit
        if b"dpop" in headers.values:
            for name, value in self._authenticator.success_headers(_lines(headers, b"dpop")):
                answer.add_header(name.encode(), value.encode())
        return True

    async def aclose(self) -> None:
        """Break off what is done for requests that are not served any more."""
        await self._authenticator.aclose()

    async def _permit_for(self, scope: Scope, headers: RequestHeaders, place: Place) -> Permit:
        root: str = scope.get("root_path", "")
        query: bytes = scope.get("query_string", b"")
        try:
            verified = await self._authenticator.authenticate(
                _lines(headers, b"authorization"),
                _lines(headers, b"dpop"),
                scope["method"],
                place.url + scope["path"].removeprefix(root),
                place.resource,
                query=query.decode("latin-1"),
            )
        except AuthenticationRefused as refusal:
            has_token = refusal.status != _UNAUTHORIZED or refusal.error is not None
            if has_token or not self._protection.anonymous:
                raise
            return self._anonymous_at(place)
        key = id(verified), place.resource
        known = self._permits.get(key)
        if known is not None and known[0] is verified:
            return known[1]
        permit = self._make_permit(verified, place)
        if len(self._permits) >= _MAX_REMEMBERED:
            self._permits.clear()
        self._permits[key] = verified, permit
        return permit

    def _make_permit(self, verified: VerifiedToken, place: Place) -> Permit:
        principal = verified.principal
        scopes = self._protection.extended(principal.scopes)
        if scopes is not principal.scopes:
            principal = msgspec.structs.replace(principal, scopes=scopes)
        who = msgspec.json.encode([principal.issuer, principal.subject, verified.client_id or ""])
        return Permit(
            principal,
            hashlib.sha256(who).hexdigest(),
            inf if verified.expires_at is None else verified.expires_at,
            partial(
                self._refuse_scopes, place, "Bearer" if verified.key_thumbprint is None else "DPoP"
            ),
        )

    def _anonymous_at(self, place: Place) -> Permit:
        permit = self._anonymous.get(place)
        if permit is None:
            refuse = partial(self._refuse_nobody, place)
            permit = self._anonymous[place] = Permit(None, NOBODY, inf, refuse)
        return permit

    # --- which server it is

    def _place_of(self, scope: Scope, host: bytes, root: str, path: str) -> Place | None:
        """Return which server a request is for; `None` if that is not known for sure.

        Args:
            scope: The request.
            host: Its `Host`.
            root: The prefix that the application is mounted at.
            path: The path of an endpoint below it.
        """
        port = (scope.get("server") or (None, None))[1]
        key = (scope["scheme"], host, root, port, path)
        place = self._places.get(key)
        if place is None:
            place = self._make_place(scope["scheme"], host.decode("latin-1"), root, port, path)
            if place is not None and len(self._places) < _MAX_REMEMBERED:
                self._places[key] = place
        return place

    def _make_place(
        self, scheme: str, host: str, root: str, port: int | None, path: str
    ) -> Place | None:
        explicit = self._protection.resource
        has_issuer = bool(self._protection.authorization_servers)
        if explicit is None:
            try:
                url = read_url(f"{scheme}://{host}")
            except ValueError:
                return None
            is_default = url.port == read_url(f"{scheme}://x").port
            # What another server on the same host is called must not pass for the name of this one.
            if not is_default and url.port != port and url.port not in self._ports:
                return None
            prefix = f"{url.origin}{root}"
            resource, metadata = f"{prefix}{path}", f"{prefix}{WELL_KNOWN}{path}"
        else:
            url = read_url(explicit)
            if url.bare_path.endswith(self._path):
                # What is before the path is taken away by a proxy, or by a framework.
                prefix = url.origin + url.bare_path.removesuffix(self._path)
                resource = explicit if path == self._path else f"{prefix}{path}"
                metadata = f"{prefix}{WELL_KNOWN}{path}"
            else:
                prefix, resource = f"{url.origin}{root}", explicit
                about = path if root else url.bare_path
                metadata = f"{prefix}{WELL_KNOWN}{about}"
        return Place(resource, metadata if has_issuer else None, prefix)

    async def _refuse_host(self, headers: RequestHeaders, answer: Answer) -> None:
        host = headers.values.get(_HOST, b"")[:200].decode("latin-1")
        _logger.warning(
            "refused Host %r: tokens must be meant for the URL of this server, and it does not "
            "listen on that port; if clients reach it there, say so: Protection(…, resource=…)",
            host,
        )
        reason = "Forbidden: Host is not allowed; the server's log says more"
        await answer.whole(_FORBIDDEN, encode_error(None, INVALID_REQUEST, reason))

    # --- who may not

    async def _refuse(
        self,
        refusal: AuthenticationRefused,
        place: Place,
        scope: Scope,
        headers: RequestHeaders,
        receive: Receive,
        answer: Answer,
    ) -> None:
        needed: Scopes = ()
        if refusal.status == _UNAUTHORIZED:
            needed = await self._needed_by(scope, headers, receive)
            self._warn_of_route(scope, place.metadata)
        lines = self._authenticator.response_headers(
            refusal, resource_metadata=place.metadata, scopes=needed
        )
        if refusal.status == _UNAUTHORIZED and refusal.error in _ORDINARY:
            _logger.debug("refused a request: %s", refusal.reason)
        else:
            self._complain(refusal.reason, scope)
        title = _TITLES.get(refusal.status, "Unauthorized")
        reason = f"{title}: {refusal.description or 'a token is needed'}"
        code = INTERNAL_ERROR if refusal.status >= 500 else INVALID_REQUEST
        await answer.whole(refusal.status, encode_error(None, code, reason), _encoded(lines))

    def _refuse_scopes(
        self, place: Place, used: Scheme, scopes: Iterable[str]
    ) -> tuple[int, Headers]:
        """Return status and headers for somebody whose token allows too little."""
        lines = self._authenticator.challenges(
            resource_metadata=place.metadata,
            scopes=join_scopes(self._protection.scopes, scopes),
            error="insufficient_scope",
            error_description="the token does not allow this",
            used=used,
        )
        return _FORBIDDEN, _challenge(lines)

    def _refuse_nobody(self, place: Place, scopes: Iterable[str]) -> tuple[int, Headers]:
        """Return status and headers for somebody without a token, who needs one for this."""
        lines = self._authenticator.challenges(
            resource_metadata=place.metadata,
            scopes=join_scopes(self._protection.scopes, scopes),
        )
        return _UNAUTHORIZED, _challenge(lines)

    async def _needed_by(self, scope: Scope, headers: RequestHeaders, receive: Receive) -> Scopes:
        """Return all the scopes that a request needs, as far as that is known before it is read."""
        method, about = None, None
        if scope["method"] == "POST":
            method, about = _stated(headers) or await _glance(headers, receive)
        more = () if method is None else self._scopes_of(method, about)
        return join_scopes(self._protection.scopes, more)

    def _complain(self, reason: str, scope: Scope) -> None:
        """Note in the log that somebody was refused; the same again and again is noted once."""
        now = monotonic()
        kind = _number.sub("0", reason)  # a token expires a second earlier each second
        if self._complaints.get(kind, -inf) + _QUIET_SECONDS > now:
            return
        if len(self._complaints) >= _MAX_REMEMBERED:
            self._complaints.clear()
        self._complaints[kind] = now
        client = scope.get("client")
        where = "" if client is None else f" from {client[0]}"
        _logger.warning("refused a request%s: %s", where, reason)

    # --- the document

    def is_about_resource(self, path: str) -> bool:
        """Tell whether a path, without the prefix of the application, is one of the document."""
        return path.startswith(WELL_KNOWN)

    async def answer_metadata(
        self,
        scope: Scope,
        path: str,
        endpoints: Sequence[str],
        answer: Answer,
    ) -> None:
        """Answer who wants to know where tokens come from, whoever it is.

        Args:
            scope: The request.
            path: Its path; what is before the well-known one does not matter.
            endpoints: The paths of endpoints that there are.
            answer: The answer to it.
        """
        method = scope["method"]
        if method == "OPTIONS":
            await answer.whole(204, headers=_METADATA_PREFLIGHT)
            return
        if method not in ("GET", "HEAD"):
            await answer.whole(405, headers=(*_READABLE, (b"allow", b"GET")))
            return
        place = self._place_named(path.rpartition(WELL_KNOWN)[2].rstrip("/"), scope, endpoints)
        if place is None or place.metadata is None:
            reason = "Not Found: nothing is known of such a resource"
            body = encode_error(None, INVALID_REQUEST, reason)
            await answer.whole(404, body, headers=_READABLE)
            return
        protection = self._protection
        document = create_resource_document(
            place.resource,
            protection.authorization_servers,
            scopes=protection.scopes_supported,
            name=protection.resource_name or self._name,
            documentation=protection.documentation,
            dpop_algorithms=protection.dpop.algorithms,
            is_dpop_required=protection.dpop.required,
        )
        await answer.whole(200, msgspec.json.encode(document), headers=_READABLE)

    def _place_named(self, about: str, scope: Scope, endpoints: Sequence[str]) -> Place | None:
        """Return which server is meant by what stands behind the well-known path.

        Below a mount that is the path of an endpoint. At the origin it is the whole path, of which
        nobody else can say how much is the mount.
        """
        root: str = scope.get("root_path", "")
        inside = "" if WELL_KNOWN in root else root
        host = RequestHeaders(scope["headers"]).values.get(_HOST, b"")
        for endpoint in endpoints:
            place = self._place_of(scope, host, inside, endpoint)
            if place is None:
                continue
            names = {endpoint, f"{inside}{endpoint}", read_url(place.resource).bare_path}
            if about in names or (not about and endpoint == self._path):
                return place
            if inside != root and self._protection.resource is None and about.endswith(endpoint):
                return self._place_of(scope, host, about.removesuffix(endpoint), endpoint)
        return None

    def _warn_of_route(self, scope: Scope, metadata: str | None) -> None:
        """Tell the author when clients are sent where nothing answers, as far as can be seen.

        As a route of Starlette an application gets the requests to one path. Where it is mounted,
        it gets those that the challenge names.
        """
        is_route = "router" in scope and "app_root_path" not in scope
        if metadata is None or self.is_told_elsewhere or not is_route:
            return
        self.is_told_elsewhere = True
        _logger.warning(
            "clients are told to read %s, which nothing answers, as it seems: add "
            'app.mount("%s", mcp.resource_metadata) to your application',
            metadata,
            WELL_KNOWN,
        )


def _stated(headers: RequestHeaders) -> tuple[str | None, Any] | None:
    """Return method and name as the headers of a modern request tell; `None` if they do not."""
    method = headers.get(MCP_METHOD)
    if method is None:
        return None
    name = headers.get(MCP_NAME)
    try:
        about = None if name is None else decode_header_value(name)
    except ValueError:
        about = None
    return method.decode("latin-1"), about


class _Params(msgspec.Struct):
    name: Any = None
    uri: Any = None


class _Message(msgspec.Struct):
    method: Any = None
    params: _Params | None = None


async def _glance(headers: RequestHeaders, receive: Receive) -> tuple[str | None, Any]:
    """Return method and name as a short body tells; nothing that is wrong with it matters."""
    length = headers.get(b"content-length") or b""
    if not length.isdigit() or int(length) > _MAX_GLANCE_BYTES or headers.get(b"expect"):
        return None, None
    try:
        message = msgspec.json.decode(await read_body(receive, _MAX_GLANCE_BYTES), type=_Message)
    except (*UNDECODABLE, BodyTooLarge, ClientGone):
        return None, None
    params = message.params or _Params()
    method = message.method if isinstance(message.method, str) else None
    return method, params.name if isinstance(params.name, str) else params.uri


def _encoded(headers: Iterable[tuple[str, str]]) -> Headers:
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]


def _challenge(lines: Iterable[str]) -> Headers:
    named = [("cache-control", "no-store"), *(("www-authenticate", line) for line in lines)]
    return _encoded(named)


def _lines(headers: RequestHeaders, name: bytes) -> list[str]:
    """Return a header; one that comes twice has a comma in it, and is no token any more."""
    value = headers.values.get(name)
    return [] if value is None else [value.decode("latin-1")]
