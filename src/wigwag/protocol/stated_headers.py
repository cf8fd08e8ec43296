"""What a server's end of a conversation wants to know of the headers that a message came with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class HeaderMismatch(Protocol):
    """What is wrong with the headers that a message came with."""

    @property
    def reason(self) -> str:
        """One sentence."""
        ...

    @property
    def header(self) -> str:
        """Which header it is about."""
        ...


class StatedHeaders(Protocol):
    """What the headers of an HTTP request say about the message in its body.

    Spec: basic/transports/streamable-http#request-headers
    """

    def agree(self, version: str, method: str, name: str) -> bool:
        """Tell whether they plainly agree with version, method and name."""
        ...

    def check_version(self, version: str) -> HeaderMismatch | None:
        """Compare with the version in `_meta`."""
        ...

    def check_method(self, method: str, name: str | None) -> HeaderMismatch | None:
        """Compare with the method and, unless it is `None`, the name."""
        ...

    def check_notification(self, method: str) -> HeaderMismatch | None:
        """Compare with the method of a notification, which need not be stated."""
        ...

    def check_parameters(
        self, mirrored: Any, arguments: Mapping[str, Any]
    ) -> HeaderMismatch | None:
        """Compare with the arguments of a tool that are mirrored in headers."""
        ...
