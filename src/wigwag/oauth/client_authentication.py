"""How a client proves at a token endpoint who it is.

Spec: OAuth 2.1 section 2.4; RFC 7523 for `private_key_jwt`
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote_plus

import msgspec

from wigwag.errors import RegistrationFailed
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Registration

__all__ = [
    "ClientProof",
    "SignAssertion",
    "assertion_claims",
    "choose_method",
    "client_proof",
    "method_to_register",
]

NONE: Final = "none"
BASIC: Final = "client_secret_basic"
POST: Final = "client_secret_post"
PRIVATE_KEY: Final = "private_key_jwt"

_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ASSERTION_SECONDS: Final = 60

SignAssertion: TypeAlias = Callable[[str, str], Secret]
"""Called with the client id and the audience; returns a signed JWT with `assertion_claims`."""


class ClientProof(msgspec.Struct, frozen=True):
    """What goes into a token request."""

    headers: Mapping[str, str]
    fields: Mapping[str, str]
    secrets: tuple[Secret, ...] = ()
    """What of it must not be seen."""

    def __repr__(self) -> str:
        return "ClientProof(…)"


def assertion_claims(client_id: str, audience: str, *, now: float, jti: str) -> dict[str, Any]:
    """Return the claims of a client assertion, to be signed.

    Spec: RFC 7523 section 3

    Args:
        client_id: Who signs.
        audience: The issuer of the authorization server.
        now: Seconds since 1970.
        jti: Unguessable, and never used before.
    """
    issued = int(now)
    return {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": jti,
        "iat": issued,
        "exp": issued + _ASSERTION_SECONDS,
    }


def method_to_register(server: AuthorizationServer) -> str:
    """Return the method to ask for when the client registers itself.

    A client that anybody can take apart has no secret to keep, so none is the first choice.
    """
    offered = _offered(server)
    return next((method for method in (NONE, BASIC, POST) if method in offered), NONE)


def choose_method(
    registration: Registration, server: AuthorizationServer, *, signs: bool = False
) -> str:
    """Return the method to use: what was agreed upon, or what both can do.

    Raises:
        RegistrationFailed: It is one that this client cannot do.
    """
    agreed = registration.token_endpoint_auth_method
    able = {NONE}
    if registration.client_secret:
        able |= {BASIC, POST}
    if signs:
        able.add(PRIVATE_KEY)
    if agreed is not None:
        if agreed in able:
            return agreed
        if registration.kind != "dynamic":
            raise RegistrationFailed(
                f"the client {registration.client_id} is to use {agreed}, for which it has no "
                "secret or key",
                server.issuer,
                "give it one",
            )
    offered = _offered(server)
    for method in (PRIVATE_KEY, BASIC, POST):
        if method in able and method in offered:
            return method
    if NONE in offered:
        return NONE
    # Metadata that lists nothing of what the client was given is wrong more often than the client.
    return next(method for method in (PRIVATE_KEY, BASIC, NONE) if method in able)


def client_proof(
    registration: Registration, server: AuthorizationServer, sign: SignAssertion | None = None
) -> ClientProof:
    """Return what goes into a token request to prove who the client is.

    Raises:
        RegistrationFailed: The client cannot do what was agreed upon.
    """
    # A client that registered itself has told nobody the key it would sign with.
    signs = sign is not None and registration.kind != "dynamic"
    method = choose_method(registration, server, signs=signs)
    client_id, secret = registration.client_id, registration.client_secret
    if method == PRIVATE_KEY and sign is not None:
        signed = sign(client_id, server.issuer)
        fields = {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": signed.reveal()}
        return ClientProof({}, fields, (signed,))
    if method == BASIC and secret is not None:
        # Form-encoded before Base64, so that a colon in the id does not end it: RFC 6749 2.3.1.
        pair = f"{quote_plus(client_id)}:{quote_plus(secret.reveal())}"
        encoded = b64encode(pair.encode()).decode()
        return ClientProof({"authorization": f"Basic {encoded}"}, {}, (secret, Secret(encoded)))
    if method == POST and secret is not None:
        fields = {"client_id": client_id, "client_secret": secret.reveal()}
        return ClientProof({}, fields, (secret,))
    return ClientProof({}, {"client_id": client_id})


def _offered(server: AuthorizationServer) -> tuple[str, ...]:
    """Return what the server offers: by RFC 8414, Basic alone if it does not say."""
    offered = server.token_endpoint_auth_methods_supported
    return (BASIC,) if offered is None else offered
