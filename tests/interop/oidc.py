"""The authorization server of `peers/oidc_provider.mjs`: running, and asked what it has seen."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tests.interop import catalogue, services

SCOPES: Final = "notes:read notes:write"
SECONDS: Final = 20


class AuthorizationServer:
    """It, from the outside.

    Attributes:
        issuer: Its URL.
    """

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def seen(self, route: str) -> list[dict[str, Any]]:
        """What was asked for at one of its routes, and how that ended, in order."""
        return [each for each in self._ask("/seen") if each["route"] == route]

    def grants(self) -> list[str]:
        """By which grants tokens were asked for, each followed by the error, if it was refused."""
        return [
            " ".join(filter(None, (each["grant"], each.get("error"))))
            for each in self.seen("token")
        ]

    def forget_seen(self) -> None:
        """Let it count anew."""
        self._ask("/forget", b"")

    def revoke_all(self) -> None:
        """Take back everything that it has issued."""
        self._ask("/revoke", b"")

    def _ask(self, path: str, body: bytes | None = None) -> list[dict[str, Any]]:
        with urllib.request.urlopen(self.issuer + path, body, SECONDS) as answer:
            seen: list[dict[str, Any]] = json.load(answer)
        return seen


@contextmanager
def running(**settings: Any) -> Iterator[AuthorizationServer]:
    """Runs one while the block runs."""
    command, environ = catalogue.authorization_server({"scopes": SCOPES, **settings})
    with services.running(command, environ) as (service, issuer):
        yield AuthorizationServer(issuer)
        assert service.process.poll() is None, "".join(service.said)
