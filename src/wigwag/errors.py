"""Every exception of the library, and whose fault each one is.

    McpError
    ├── ProtocolError               a rule of the protocol was broken
    │   ├── LocalProtocolError        by us: nothing was sent, fix the calling code
    │   └── RemoteProtocolError       by the peer
    │       └── InvalidResult           it answered with something that is no such result
    ├── RequestFailed               the peer answered the request with an error
    ├── RequestTimedOut             the peer did not answer in time
    ├── TransportError              messages cannot be carried
    │   ├── ConnectionClosed          the connection ended, or was never open
    │   └── ServerStartFailed         the server process did not come up
    └── ToolError                   raised by a tool: a failure the model should read

Only `RequestFailed` carries an error code of the wire; a local failure never does.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ConnectionClosed",
    "InvalidResult",
    "LocalProtocolError",
    "McpError",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestFailed",
    "RequestTimedOut",
    "ServerStartFailed",
    "ToolError",
    "TransportError",
]


class McpError(Exception):
    """Base of all exceptions raised by Wigwag."""


class ProtocolError(McpError):
    """A rule of the protocol was broken."""


class LocalProtocolError(ProtocolError):
    """The caller asked for something the protocol does not allow; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The peer broke a rule of the protocol."""


class RequestFailed(McpError):
    """The peer answered a request with an error; a handler may raise it to do the same.

    Spec: basic#error-responses

    Args:
        code: The JSON-RPC error code, for example -32602.
        message: One sentence from the side that refused.
        data: What else it said, as plain JSON values; `None` when it said nothing.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        """The message, with the code behind it."""
        return f"{self.message} (error {self.code})"


class RequestTimedOut(McpError):
    """The peer did not answer in time; it was told to stop working on the request.

    Args:
        method: The method of the request.
        waited: Seconds since the request was sent.
        limit: Which limit was reached, in words.
    """

    def __init__(self, method: str, waited: float, limit: str) -> None:
        super().__init__(method, waited, limit)
        self.method = method
        self.waited = waited
        self.limit = limit

    def __str__(self) -> str:
        """The method, the time waited and the limit that was reached."""
        return f"no answer to {self.method} after {self.waited:.1f} s ({self.limit})"


class TransportError(McpError):
    """Messages cannot be carried to the peer or from it."""


class ConnectionClosed(TransportError):
    """The connection has ended; nothing more can be sent or received.

    Args:
        reason: Why, in one sentence.
        exit_code: Exit status of the server process, where there was one.
        stderr: The last lines the server wrote to its standard error.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr

    def __str__(self) -> str:
        """The reason, then what the server last wrote to its standard error."""
        return _with_stderr(self.reason, self.stderr)


class ServerStartFailed(TransportError):
    """The server process could not be started, or ended before it answered anything.

    Args:
        reason: Why, naming the command.
        exit_code: Its exit status, when it was started at all.
        stderr: The last lines it wrote to its standard error.
    """

    def __init__(self, reason: str, *, exit_code: int | None = None, stderr: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code
        self.stderr = stderr

    def __str__(self) -> str:
        """The reason, then what the server last wrote to its standard error."""
        return _with_stderr(self.reason, self.stderr)


class InvalidResult(RemoteProtocolError):
    """The peer answered with something that is not a result of the request's method."""


class ToolError(McpError):
    """Raise it in a tool to let the model read what went wrong and try otherwise.

    The text reaches the model as it is, in a result with `isError: true`. Any other exception
    reaches it as a reference id only, while its traceback goes to the log.

    Spec: server/tools#error-handling
    """


def _with_stderr(reason: str, stderr: str) -> str:
    if not stderr:
        return reason
    indented = "\n".join(f"    {line}" for line in stderr.splitlines())
    return f"{reason}; the last lines of its standard error:\n{indented}"
