"""An HTTP client made of system calls: it writes the bytes it is given and sees every byte back."""

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.asgi import BOTH, hello, notification
from tests.e2e.host import PATIENCE, Host, Message

__all__ = ["HttpConnection", "Response", "address_of", "begin_session", "connect", "request_bytes"]


def request_bytes(
    method: str,
    path: str = "/mcp",
    *,
    body: bytes | Message | list[Message] | None = None,
    headers: Mapping[str, str] | None = None,
    host: str = "localhost",
) -> bytes:
    """Return a request as it is written."""
    lines = {"host": host, "accept": BOTH}
    data = b""
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines |= {"content-type": "application/json", "content-length": f"{len(data)}"}
    lines |= {name.lower(): value for name, value in (headers or {}).items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + data


class Response:
    """An answer: its head, and its body as far as it has been read."""

    def __init__(self, connection: "HttpConnection", status: int, headers: dict[str, str]) -> None:
        self._connection = connection
        self.status = status
        self.headers = headers
        self._text = b""

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return self.headers.get("transfer-encoding") == "chunked"

    def read_chunk(self) -> bytes:
        """Read the next chunk; empty for the last one, which ends the body properly."""
        size = int(self._connection.read_until(b"\r\n"), 16)
        data = self._connection.read(size)
        assert self._connection.read(2) == b"\r\n"
        return data

    def read_body(self) -> bytes:
        """Read all that is left."""
        if not self.is_chunked:
            return self._connection.read(int(self.headers.get("content-length", "0")))
        return b"".join(iter(self.read_chunk, b""))

    def json(self) -> Any:
        """Read the body, which is JSON."""
        assert self.headers["content-type"] == "application/json", self.read_body()
        return json.loads(self.read_body())

    def block(self) -> str:
        """Read the next event or comment; empty at the proper end of the stream."""
        while b"\n\n" not in self._text:
            chunk = self.read_chunk()
            if not chunk:
                assert not self._text
                return ""
            self._text += chunk
        block, _, self._text = self._text.partition(b"\n\n")
        return block.decode()

    def message(self) -> Message:
        """Read events up to one with a message."""
        while True:
            block = self.block()
            assert block, "the stream has ended"
            for line in block.split("\n"):
                if line.startswith("data: {"):
                    message = json.loads(line[6:])
                    assert isinstance(message, dict)
                    return message

    def messages(self) -> list[Message]:
        """Read the messages up to the proper end of the stream."""
        blocks = list(iter(self.block, ""))
        lines = [line for block in blocks for line in block.split("\n")]
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


class HttpConnection:
    """One connection to a server."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._unread = b""

    def send(self, data: bytes) -> None:
        """Write bytes."""
        self.socket.sendall(data)

    def ask(self, method: str, path: str = "/mcp", **more: Any) -> Response:
        """Send a request and read the head of its answer."""
        self.send(request_bytes(method, path, **more))
        return self.head()

    def call(self, message: Message, headers: Mapping[str, str], **more: Any) -> Response:
        """Post a message."""
        return self.ask("POST", body=message, headers=headers, **more)

    def head(self) -> Response:
        """Read the head of an answer."""
        start, *lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        pairs = [line.split(": ", 1) for line in lines]
        headers = {name.lower(): value for name, value in pairs}
        assert len(headers) == len(pairs)
        return Response(self, int(start.split(" ")[1]), headers)

    def read_until(self, mark: bytes) -> bytes:
        """Read up to a mark, which is left out."""
        while mark not in self._unread:
            data = self.socket.recv(1 << 16)
            assert data, f"the connection has ended after {self._unread!r}"
            self._unread += data
        found, _, self._unread = self._unread.partition(mark)
        return found

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        while len(self._unread) < size:
            data = self.socket.recv(1 << 16)
            assert data, f"the connection has ended after {self._unread!r}"
            self._unread += data
        data, self._unread = self._unread[:size], self._unread[size:]
        return data

    def rest(self) -> bytes:
        """Read up to the end of the connection."""
        pieces = [self._unread]
        self._unread = b""
        try:
            while data := self.socket.recv(1 << 16):
                pieces.append(data)
        except ConnectionResetError:
            pass
        return b"".join(pieces)


@contextmanager
def connect(
    address: tuple[str, int], *, context: ssl.SSLContext | None = None
) -> Iterator[HttpConnection]:
    """Connect to a server."""
    with socket.create_connection(address, timeout=PATIENCE) as sock:
        if context is None:
            yield HttpConnection(sock)
        else:
            with context.wrap_socket(sock, server_hostname="localhost") as wrapped:
                yield HttpConnection(wrapped)


def address_of(host: Host) -> tuple[str, int]:
    """Wait until a server says where it listens."""
    host.wait_for_stderr("listens on")
    match = re.search(r"listens on https?://(\[[^\]]+\]|[^:/]+):(\d+)/", host.stderr)
    assert match is not None, host.stderr
    return match[1].strip("[]"), int(match[2])


def begin_session(connection: HttpConnection, *, path: str = "/mcp") -> dict[str, str]:
    """Begin a session and return the header that goes with it."""
    begun = connection.call(hello(), {}, path=path)
    assert begun.status == 200
    begun.read_body()
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    done = connection.call(notification("notifications/initialized"), session, path=path)
    assert (done.status, done.read_body()) == (202, b"")
    return session
