"""Asking an authorization server about a token (RFC 7662): the question and the answer."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias
from urllib.parse import quote_plus

from wigwag.errors import InvalidToken, VerifierUnavailable
from wigwag.oauth.access_tokens import (
    AccessToken,
    ClaimNames,
    check_claims,
    check_issuer,
    read_access_token,
)
from wigwag.oauth.requests import HttpRequest, HttpResponse, form_request
from wigwag.oauth.secret import Secret

__all__ = ["ClientAuthentication", "introspection_request", "read_introspection"]

ClientAuthentication: TypeAlias = Literal["client_secret_basic", "client_secret_post"]


def introspection_request(
    endpoint: str,
    token: Secret,
    *,
    client_id: str,
    client_secret: Secret,
    method: ClientAuthentication,
) -> HttpRequest:
    """Return the question.

    Args:
        endpoint: Where it is asked.
        token: What it is about.
        client_id: Who asks: this server, as it is registered there.
        client_secret: How it proves that.
        method: Where the secret stands.
    """
    fields = {"token": token.reveal(), "token_type_hint": "access_token"}
    if method == "client_secret_post":
        fields |= {"client_id": client_id, "client_secret": client_secret.reveal()}
        return form_request(endpoint, fields)
    # Form-encoded before Base64, so that a colon in the id does not end it: RFC 6749 2.3.1.
    pair = f"{quote_plus(client_id)}:{quote_plus(client_secret.reveal())}"
    encoded = b64encode(pair.encode()).decode()
    return form_request(endpoint, fields, {"authorization": f"Basic {encoded}"})


def read_introspection(
    response: HttpResponse,
    *,
    issuer: str | None,
    audience: Sequence[str],
    now: float,
    leeway: float,
    names: ClaimNames | None = None,
    is_audience_required: bool = True,
) -> AccessToken | None:
    """Return what an authorization server says of a token; `None` if it is not good.

    Args:
        response: Its answer.
        issuer: Who must have issued the token, if that is known and the answer says.
        audience: What this server is called.
        now: Seconds since 1970.
        leeway: How many seconds the clock of the issuer may be ahead or behind.
        names: Where to find scopes and roles.
        is_audience_required: Whether the answer must say whom the token is for.

    Raises:
        InvalidToken: It is good, though not here.
        VerifierUnavailable: This is no answer.
    """
    found = _answer(response)
    if found.get("active") is not True:
        return None
    _check_type(found)
    if issuer is not None and "iss" in found:
        check_issuer(found, issuer)
    check_claims(
        found,
        audience=audience,
        now=now,
        leeway=leeway,
        is_expiry_required=False,
        is_audience_required=is_audience_required,
    )
    said = found.get("iss")
    vouching = issuer if issuer is not None else said if isinstance(said, str) else ""
    return read_access_token(found, vouching, names)


def _check_type(found: dict[str, Any]) -> None:
    kind = found.get("token_type")
    # Some servers write other things here, and some know refresh tokens by the same endpoint.
    if isinstance(kind, str) and kind.lower() in ("refresh_token", "id_token"):
        raise InvalidToken(f"it is a {kind.lower()}, not an access token")


def _answer(response: HttpResponse) -> dict[str, Any]:
    if response.status in (401, 403):
        raise VerifierUnavailable(
            f"the authorization server refuses to answer this server ({response.status}): look at "
            "client_id and client_secret",
            30.0,
        )
    document = response.read_object() if response.status == 200 else None
    if document is None or not isinstance(document.get("active"), bool):
        raise VerifierUnavailable(
            f"the authorization server answered {response.status}, and not whether a token is good"
        )
    return document
