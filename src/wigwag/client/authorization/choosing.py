"""What `auth=` of a client may be, and what becomes of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from wigwag.client.authorization.authorizer import ClientAuthorizer
from wigwag.client.authorization.given_tokens import ApiKey, BearerToken, GivenAuthorizer
from wigwag.client.authorization.oauth import OAuth, OAuthWay
from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import is_loopback, read_url

if TYPE_CHECKING:
    from wigwag.transports.http_client_engine import TLS

__all__ = ["Auth", "authorizer_for"]

_logger = logging.getLogger("wigwag.client")

Given: TypeAlias = str | Secret | Mapping[str, str] | BearerToken | ApiKey | None
Auth: TypeAlias = (
    str | Secret | OAuthWay | BearerToken | ApiKey | Callable[[], Given | Awaitable[Given]]
)
"""`"oauth"`, one of the ways of OAuth, a token or key, or a function that returns one."""

_KINDS: Final = (
    '`auth` is "oauth", an OAuth(), ClientCredentials(), WorkloadIdentity() or '
    "EnterpriseManaged(), a token as a text or BearerToken(), an ApiKey(), or a function that "
    "returns a token or headers"
)


def authorizer_for(
    auth: Any,
    url: str,
    *,
    headers: Any = None,
    ssl: TLS | None = None,
    client_name: str | None = None,
) -> ClientAuthorizer:
    """Return what authorizes the requests to a URL.

    Args:
        auth: What the user of the client wants.
        url: The URL of the server.
        headers: What requests carry besides.
        ssl: Whom to trust.
        client_name: What the client calls itself.

    Raises:
        ValueError: Something in it cannot be used with this URL, or at all.
        TypeError: It is nothing of what it may be.
    """
    if isinstance(headers, Mapping) and any(name.lower() == "authorization" for name in headers):
        raise ValueError("give `auth` or an `Authorization` header, not both")
    _warn_of_plain_http(url)
    if isinstance(auth, str | Secret):
        auth = OAuth() if _is_oauth(auth) else BearerToken(auth)
    if isinstance(auth, OAuthWay):
        return auth.authorizer(url, ssl, client_name)
    if isinstance(auth, type):
        raise TypeError(f"{_KINDS}; {auth.__name__} is a class: write {auth.__name__}(…)")
    if isinstance(auth, BearerToken | ApiKey) or callable(auth):
        return GivenAuthorizer(url, auth)
    raise TypeError(f"{_KINDS}, not {type(auth).__name__}")


def _warn_of_plain_http(url: str) -> None:
    try:
        server = read_url(url)
    except ValueError:  # which is told where it is used
        return
    if server.scheme == "http" and not is_loopback(server):
        _warn_once(server.origin)


@lru_cache(maxsize=1024)  # who makes many clients is told once
def _warn_once(origin: str) -> None:
    _logger.warning(
        "tokens and keys for %s can be read by whoever is in between: use https", origin
    )


def _is_oauth(auth: str | Secret) -> bool:
    return isinstance(auth, str) and auth.lower() == "oauth"
