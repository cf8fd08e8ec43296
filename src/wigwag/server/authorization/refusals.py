"""Why a request is not let in, for the answer to it and for the log."""

from __future__ import annotations

from wigwag.oauth.credentials import Scheme

__all__ = ["AuthenticationRefused"]


class AuthenticationRefused(Exception):
    """A request is not let in.

    Args:
        status: That of the answer: 400, 401 or 503.
        error: What OAuth calls it; `None` if no token was sent, or it is nobody's fault.
        description: What the client is told.
        reason: What the log is told; nothing of the token.
        used: How the token was sent, if one was.
        nonce: What the next proof must contain.
        retry_after: Seconds after which the same request may be let in.
    """

    def __init__(
        self,
        status: int,
        error: str | None = None,
        description: str = "",
        *,
        reason: str = "",
        used: Scheme | None = None,
        nonce: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(status, error, description)
        self.status = status
        self.error = error
        self.description = description
        self.reason = reason or description
        self.used: Scheme | None = used
        self.nonce = nonce
        self.retry_after = retry_after

    def __str__(self) -> str:
        """The reason."""
        return self.reason
