"""Every exception of the library, and whose fault each one is.

    McpError
    ├── ProtocolError               a rule of the protocol was broken
    │   ├── LocalProtocolError        by us: nothing was sent, fix the calling code
    │   └── RemoteProtocolError       by the peer
    │       ├── InvalidResult           it answered with something that is no such result
    │       └── NotMcp                  it answered with something that is not MCP at all
    ├── RequestFailed               the peer answered the request with an error
    │   └── ResourceNotFound          raised by a resource: there is nothing under the URI
    ├── RequestTimedOut             the peer did not answer in time
    ├── TransportError              messages cannot be carried
    │   ├── ConnectionClosed          the connection ended, or was never open
    │   │   └── SessionLost             the server has forgotten the session
    │   ├── ServerStartFailed         the server process did not come up
    │   ├── ServerUnreachable         no connection to the URL: nothing was sent
    │   │   ├── ConnectionRefused       nobody listens there
    │   │   ├── HostNotFound            there is no such host
    │   │   └── TLSFailed               the certificate is not trusted, or there is no TLS
    │   └── HttpStatusError           HTTP refused: the status says why
    ├── AuthorizationFailed         no token was obtained for the server, or none that helps
    │   ├── AuthorizationRefused      the user or the authorization server said no
    │   ├── AuthorizationUntrusted    an answer may be an attack, and was not acted upon
    │   ├── AuthorizationUnavailable  the authorization server cannot answer at the moment
    │   ├── InsufficientScope         the token does not allow this, and asking for more was no use
    │   └── RegistrationFailed        the authorization server does not know this client
    ├── ServerNotLoaded             the code of a server cannot be loaded, or has no server in it
    ├── InvalidToken                raised by a token verifier: the token is not good here
    ├── VerifierUnavailable         raised by a token verifier: nobody can tell at the moment
    └── ToolError                   raised by a tool: a failure the model should read
        ├── QuestionFailed            a handler asked the client, and there is no answer
        └── ToolFailed                a client called a tool, and wants failures raised

Only `RequestFailed` carries an error code of the wire; a local failure never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "AuthorizationFailed",
    "AuthorizationRefused",
    "AuthorizationUnavailable",
    "AuthorizationUntrusted",
    "ConnectionClosed",
    "ConnectionRefused",
    "HostNotFound",
    "HttpStatusError",
    "InsufficientScope",
    "InvalidResult",
    "InvalidToken",
    "LocalProtocolError",
    "McpError",
    "NotMcp",
    "ProtocolError",
    "QuestionFailed",
    "RegistrationFailed",
    "RemoteProtocolError",
    "RequestFailed",
    "RequestTimedOut",
    "ResourceNotFound",
    "ServerNotLoaded",
    "ServerStartFailed",
    "ServerUnreachable",
    "SessionLost",
    "TLSFailed",
    "ToolError",
    "ToolFailed",
    "TransportError",
    "VerifierUnavailable",
]

# What legacy revisions have for it; the protocol knows what it is elsewhere.
_RESOURCE_NOT_FOUND = -32002

# How much of the body of an HTTP response is shown.
_EXCERPT_CHARACTERS = 300


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


class ResourceNotFound(RequestFailed):
    """Raise it in a resource function when there is nothing under the URI.

    The client gets the error code that its revision has for this, and the URI.

    Spec: server/resources#error-handling

    Args:
        message: What is not there, for the client to read.
        uri: The URI; by default the one that is being read.
    """

    def __init__(self, message: str = "", uri: str | None = None) -> None:
        text = message or ("Resource not found" if uri is None else f"Resource not found: {uri}")
        super().__init__(_RESOURCE_NOT_FOUND, text, None if uri is None else {"uri": uri})
        self.args = (message, uri)  # as for pickle, so for `at`
        self.uri = uri

    def at(self, uri: str) -> ResourceNotFound:
        """Return the same error for a URI, unless it names one already."""
        return self if self.uri is not None else ResourceNotFound(self.args[0], uri)


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


class SessionLost(ConnectionClosed):
    """The server has forgotten the session: it was started anew, or the session was idle too long.

    A `Client` opens a new session by itself, and asks again what can safely be asked twice. Who
    sees this has asked for something else, and cannot know whether it was done.

    Spec: 2025-11-25 basic/transports#session-management

    Args:
        reason: Why, in one sentence.
        was_refused: Whether the request itself was refused for it, and so was not carried out.
    """

    def __init__(self, reason: str, *, was_refused: bool = False) -> None:
        super().__init__(reason)
        self.was_refused = was_refused


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


class ServerUnreachable(TransportError):
    """There is no connection to the URL; nothing was sent."""


class ConnectionRefused(ServerUnreachable):
    """Nobody listens at the port: the server does not run, or runs elsewhere."""


class HostNotFound(ServerUnreachable):
    """The host of the URL has no address."""


class TLSFailed(ServerUnreachable):
    """There is no trust: the certificate is not valid here, or the server does not speak TLS."""


class HttpStatusError(TransportError):
    """The server, or something on the way to it, refused the HTTP request.

    Args:
        url: What was asked, without the parts that may be secret.
        status: The status of the response, for example 401.
        reason: The words that go with the status.
        body: The body of the response, as text; a very long one is cut.
        headers: The headers of the response, with names in lower case: `www-authenticate` says
            what a 401 wants.
    """

    def __init__(
        self, url: str, status: int, reason: str, body: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(url, status, reason, body, headers)
        self.url = url
        self.status = status
        self.reason = reason
        self.body = body
        self.headers = headers

    def __str__(self) -> str:
        """The URL, the status and the beginning of the body."""
        answered = f"{self.url} answered {self.status} {self.reason}".rstrip()
        if self.status in (301, 302, 303, 307, 308) and "location" in self.headers:
            where = self.headers["location"]
            return f"{answered}: a redirect to {where}, which is not followed; use that URL"
        if self.status == 401 and "resource_metadata" in self.headers.get("www-authenticate", ""):
            answered += ' (it wants a token: `auth="oauth"` gets one)'
        return f"{answered}{excerpt(self.body)}"


class AuthorizationFailed(McpError):
    """There is no token for the server, or none that helps.

    No text of it holds a token, a code or a secret.

    Spec: basic/authorization

    Args:
        reason: What failed, in one clause.
        where: The URL at which it did, without the parts that may be secret; may be empty.
        advice: What to do about it, in one clause; may be empty.
    """

    def __init__(self, reason: str, where: str = "", advice: str = "") -> None:
        super().__init__(reason, where, advice)
        self.reason = reason
        self.where = where
        self.advice = advice

    def __str__(self) -> str:
        """What failed, where, and what to do."""
        where = f" ({self.where})" if self.where else ""
        return f"{self.reason}{where}{'; ' if self.advice else ''}{self.advice}"


class AuthorizationRefused(AuthorizationFailed):
    """The user, or the authorization server, said no.

    Args:
        reason: What failed, in one clause.
        where: The URL at which it did, without the parts that may be secret; may be empty.
        advice: What to do about it, in one clause; may be empty.
        error: What the server calls it, such as `access_denied`; empty if it gave it no name.
    """

    def __init__(self, reason: str, where: str = "", advice: str = "", error: str = "") -> None:
        super().__init__(reason, where, advice)
        self.args = (reason, where, advice, error)  # as for pickle
        self.error = error


class AuthorizationUntrusted(AuthorizationFailed):
    """What somebody answered is not what it should be, and may be an attack.

    It was not acted upon: no code, token or secret was sent. Trying again does not help.

    Spec: basic/authorization/security-considerations
    """


class AuthorizationUnavailable(AuthorizationFailed):
    """The authorization server cannot answer at the moment; nothing that is kept was forgotten."""


class RegistrationFailed(AuthorizationFailed):
    """The authorization server does not know this client, and does not let it register.

    Spec: basic/authorization/client-registration
    """


class InsufficientScope(AuthorizationFailed):
    """The token does not allow this, and asking for more was of no use.

    Spec: basic/authorization#step-up-authorization-flow

    Args:
        reason: What failed, in one clause.
        where: The URL at which it did; may be empty.
        advice: What to do about it, in one clause; may be empty.
        scopes: What the server says that it needs.
    """

    def __init__(
        self, reason: str, where: str = "", advice: str = "", scopes: tuple[str, ...] = ()
    ) -> None:
        super().__init__(reason, where, advice)
        self.args = (reason, where, advice, scopes)  # as for pickle
        self.scopes = scopes


class ServerNotLoaded(McpError):
    """The code of a server cannot be loaded, or there is no server in it.

    The text has the file and the line of the code that is to be changed, and none of Wigwag's.
    """


class InvalidToken(McpError):
    """Raise it in a token verifier when a token is not good for this server.

    The client gets a 401 with `invalid_token` and the description; the reason is only for the log
    of the server, and even there must hold nothing of the token that is secret.

    Spec: basic/authorization#token-handling

    Args:
        reason: What is wrong, in one clause.
        description: What the client is told, in one clause.
    """

    def __init__(self, reason: str, description: str = "the token is not valid here") -> None:
        super().__init__(reason, description)
        self.reason = reason
        self.description = description

    def __str__(self) -> str:
        """The reason."""
        return self.reason


class VerifierUnavailable(McpError):
    """Raise it in a token verifier when nobody can tell at the moment whether a token is good.

    The client gets a 503, keeps its token and can try again; a 401 would make it throw it away.

    Args:
        reason: What is out of order, in one clause, for the log of the server.
        retry_after: Seconds after which it may work again.
    """

    def __init__(self, reason: str, retry_after: float = 5.0) -> None:
        super().__init__(reason, retry_after)
        self.reason = reason
        self.retry_after = retry_after

    def __str__(self) -> str:
        """The reason."""
        return self.reason


class InvalidResult(RemoteProtocolError):
    """The peer answered with something that is not a result of the request's method."""


class NotMcp(RemoteProtocolError):
    """What answers is no MCP server, for example a web page: look at the URL."""


class ToolError(McpError):
    """Raise it in a tool to let the model read what went wrong and try otherwise.

    The text reaches the model as it is, in a result with `isError: true`. Any other exception
    reaches it as a reference id only, while its traceback goes to the log.

    Spec: server/tools#error-handling
    """


class QuestionFailed(ToolError):
    """A handler asked the client for something, and there is no answer; the text says why.

    The client cannot be asked this, refused, broke off, or answered something else. That a user
    declined is an answer, not a failure. A handler that lets it pass fails with its text.
    """


class ToolFailed(ToolError):
    """A tool has failed: what `Client.call_tool` raises for it, if it is told to.

    The text is what the tool said for the model to read. A tool of yours that calls another and
    lets this pass fails with the same text.

    Args:
        text: What the tool said.
        result: The whole result, as `Client.call_tool` returns it otherwise.
    """

    def __init__(self, text: str, result: Any = None) -> None:
        super().__init__(text, result)
        self.text = text
        self.result = result

    def __str__(self) -> str:
        """What the tool said."""
        return self.text


def _with_stderr(reason: str, stderr: str) -> str:
    if not stderr:
        return reason
    indented = "\n".join(f"    {line}" for line in stderr.splitlines())
    return f"{reason}; the last lines of its standard error:\n{indented}"


def excerpt(body: str) -> str:
    r"""Return the beginning of a body as the end of a sentence; nothing for an empty one.

    >>> excerpt("<html>\n  no such page"), excerpt(" ")
    (': <html> no such page', '')
    """
    words = " ".join(body.split())
    if len(words) > _EXCERPT_CHARACTERS:
        words = words[:_EXCERPT_CHARACTERS] + "…"
    return f": {words}" if words else ""
