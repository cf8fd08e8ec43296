"""The authorization request that a browser is sent to, and the redirect that it comes back with.

Spec: basic/authorization#authorization-flow-steps, #authorization-response-validation
"""

from __future__ import annotations

from hmac import compare_digest
from typing import Final
from urllib.parse import parse_qsl, urlencode

import msgspec

from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.pkce import challenge_of, unguessable
from wigwag.oauth.requests import told
from wigwag.oauth.scopes import Scopes, write_scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration
from wigwag.oauth.urls import shown

__all__ = ["Attempt", "authorization_url", "begin_attempt", "read_redirect"]

_MAX_REDIRECT_CHARACTERS: Final = 65_536
_MAX_FIELDS: Final = 64


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a user is asked: what must come back, and who may see the code.

    The issuer is recorded before the browser is sent anywhere, from metadata that was checked.
    """

    server: AuthorizationServer
    registration: Registration
    redirect_uri: str
    resource: str
    scopes: Scopes
    state: str
    verifier: Secret

    def __repr__(self) -> str:
        return f"Attempt(issuer={self.server.issuer!r}, resource={self.resource!r})"


def begin_attempt(
    server: AuthorizationServer,
    registration: Registration,
    *,
    redirect_uri: str,
    resource: str,
    scopes: Scopes,
    randoms: tuple[bytes, bytes],
) -> Attempt:
    """Begin to ask a user.

    Args:
        server: Who is to ask.
        registration: Who the client is there.
        redirect_uri: Where the browser is to come back to.
        resource: What access is wanted to.
        scopes: How much of it; empty to leave that to the server.
        randoms: Twice 32 random bytes, never used before.

    Raises:
        ValueError: There are too few random bytes, or they are the same twice.
    """
    if randoms[0] == randoms[1]:
        raise ValueError("state and code verifier must differ")
    return Attempt(
        server=server,
        registration=registration,
        redirect_uri=redirect_uri,
        resource=resource,
        scopes=scopes,
        state=unguessable(randoms[0]),
        verifier=Secret(unguessable(randoms[1])),
    )


def authorization_url(attempt: Attempt) -> str:
    """Return the URL to send the user to.

    Raises:
        AuthorizationFailed: The authorization server has no place for users.
    """
    endpoint = attempt.server.authorization_endpoint
    if endpoint is None:
        raise AuthorizationFailed(
            "the authorization server does not ask users",
            shown(attempt.server.issuer),
            "use credentials for machines",
        )
    fields = {
        "response_type": "code",
        "client_id": attempt.registration.client_id,
        "redirect_uri": attempt.redirect_uri,
        "code_challenge": challenge_of(attempt.verifier),
        "code_challenge_method": "S256",
        "state": attempt.state,
        "resource": attempt.resource,
    }
    if attempt.scopes:
        fields["scope"] = write_scopes(attempt.scopes)
    if "offline_access" in attempt.scopes:
        # OpenID Connect ignores the scope unless the user is asked for consent.
        fields["prompt"] = "consent"
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(fields)}"


def read_redirect(redirect: str, attempt: Attempt) -> Secret:
    """Return the code that the browser came back with.

    What was sent by somebody else is told by `state`, what comes from another authorization server
    by `iss`; until both are right, nothing of it is acted upon or shown.

    Args:
        redirect: The URL that the browser was redirected to, or what follows its `?`.
        attempt: What it should be the answer to.

    Raises:
        AuthorizationUntrusted: It is not the answer to this attempt.
        AuthorizationRefused: The user, or the authorization server, said no.
        AuthorizationFailed: There is no code in it.
    """
    fields = _fields(redirect, attempt)
    state = fields.get("state", "")
    if not compare_digest(state.encode(), attempt.state.encode()):
        raise _untrusted("the redirect is not the answer to this log-in: its state is another")
    _check_issuer(fields.get("iss"), attempt.server)
    where = shown(attempt.server.authorization_endpoint or attempt.server.issuer)
    if "error" in fields:
        raise _refusal(told(fields["error"]), told(fields.get("error_description")), where)
    if not fields.get("code"):
        raise AuthorizationFailed("the redirect brought no code", where, "log in again")
    return Secret(fields["code"])


def _refusal(error: str, description: str, where: str) -> AuthorizationFailed:
    said = f"{error}{': ' if description else ''}{description}"
    if error in ("server_error", "temporarily_unavailable"):
        return AuthorizationUnavailable(
            f"the authorization server cannot ask the user: {said}", where, "try again later"
        )
    advice = "log in again to be asked again" if error == "access_denied" else ""
    return AuthorizationRefused(f"access was refused with {said}", where, advice, error)


def _check_issuer(iss: str | None, server: AuthorizationServer) -> None:
    """Compare the issuer, letter for letter (RFC 9207)."""
    if iss is None:
        if server.authorization_response_iss_parameter_supported:
            raise _untrusted("the redirect does not say which authorization server it is from")
    elif iss != server.issuer:
        raise _untrusted("the redirect comes from another authorization server")


def _fields(redirect: str, attempt: Attempt) -> dict[str, str]:
    text = redirect.strip()
    place, mark, query = text.partition("?")
    if not mark:
        place, query = "", text
    if "://" in place and shown(place) != shown(attempt.redirect_uri):
        raise _untrusted(
            f"the browser came back to {shown(place)}, not to {shown(attempt.redirect_uri)}"
        )
    if len(query) > _MAX_REDIRECT_CHARACTERS:
        raise _untrusted("the redirect is far too long")
    query = query.partition("#")[0]
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise _untrusted("the redirect has far too many parts") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _untrusted("the redirect says one thing twice")
    return fields


def _untrusted(reason: str) -> AuthorizationUntrusted:
    return AuthorizationUntrusted(
        reason, advice="nothing of it was used; log in again, with one window open"
    )
