"""Takes a stream of HTTP/1.1 apart without changing it: heads, bodies and their ends.

Spec: https://www.rfc-editor.org/rfc/rfc9112
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

__all__ = ["Head", "HttpFraming", "HttpFramingError", "Part"]

_MAX_HEAD_BYTES: Final = 256 * 1024
_MAX_LINE_BYTES: Final = 16 * 1024


class HttpFramingError(ValueError):
    """What came is no HTTP/1.1."""


class Head(Struct, frozen=True):
    """The first line and the headers of a request or a response.

    Attributes:
        first: The first line.
        fields: The lines of the headers, as they came, without their ends.
    """

    first: bytes
    fields: list[bytes]

    @property
    def method(self) -> str:
        """That of a request."""
        return self.first.split(b" ")[0].decode("latin-1")

    @property
    def path(self) -> str:
        """Path and query of a request."""
        return self.first.split(b" ")[1].decode("latin-1")

    @property
    def status(self) -> int:
        """That of a response."""
        return int(self.first.split(b" ")[1])

    def header(self, name: str) -> str:
        """Return the value of a header, its name in lower case; `""` where there is none."""
        return self.headers().get(name, "")

    def headers(self) -> dict[str, str]:
        """Return all headers by their names in lower case; repeated ones joined by commas."""
        found: dict[str, str] = {}
        for field in self.fields:
            name, _, value = field.decode("latin-1").partition(":")
            key = name.strip().lower()
            found[key] = f"{found[key]}, {value.strip()}" if key in found else value.strip()
        return found

    def with_first(self, first: bytes) -> Head:
        """Return the head with another first line."""
        return Head(first, self.fields)

    def with_headers(self, headers: Mapping[str, str]) -> Head:
        """Return the head with some headers replaced, or added; the others stay as they are."""
        given = {name.lower(): value for name, value in headers.items()}
        fields: list[bytes] = []
        for field in self.fields:
            name = field.partition(b":")[0].decode("latin-1").strip()
            value = given.pop(name.lower(), None)
            fields.append(field if value is None else f"{name}: {value}".encode("latin-1"))
        added = [f"{name}: {given[name.lower()]}" for name in headers if name.lower() in given]
        return Head(self.first, [*fields, *(each.encode("latin-1") for each in added)])

    def __bytes__(self) -> bytes:
        """The head as it is sent."""
        return b"\r\n".join([self.first, *self.fields, b"", b""])


class Part(Struct, frozen=True, gc=False):
    """A part of the stream.

    Attributes:
        kind: Whether it is a head, a piece of a body, or the end of a request or a response.
        raw: The bytes, as they came.
        payload: What of them is content.
        head: The head, if it is one.
    """

    kind: Literal["head", "body", "end"]
    raw: bytes = b""
    payload: bytes = b""
    head: Head | None = None


_State: TypeAlias = Literal["head", "length", "size", "chunk", "trailer", "rest", "raw"]


class HttpFraming:
    """Takes one direction of a connection apart, however the bytes were cut.

    Bodies are passed on in the pieces in which they come.

    Args:
        method_asked: Returns the method of the request that the next response answers; `None`
            if it is requests that come.
    """

    def __init__(self, method_asked: Callable[[], str] | None = None) -> None:
        self._method_asked = method_asked
        self._buffer = b""
        self._state: _State = "head"
        self._left = 0  # bytes of the body, or of the chunk with its line end

    def feed(self, data: bytes) -> Iterator[Part]:
        """Return the parts that some bytes are, or complete.

        Raises:
            HttpFramingError: They are no HTTP/1.1; `pass_raw` lets them pass all the same.
        """
        self._buffer += data
        while self._buffer:
            before = self._state, len(self._buffer)
            yield from self._steps[self._state](self)
            if before == (self._state, len(self._buffer)):
                return

    def end(self) -> Iterator[Part]:
        """Return what the end of the stream completes: a body without a length."""
        if self._state == "rest":
            self._state = "head"
            yield Part("end")

    @property
    def is_between(self) -> bool:
        """Whether all that began has ended."""
        return self._state == "head" and not self._buffer

    def pass_raw(self) -> None:
        """Take all that comes from here on for something else than HTTP."""
        self._state = "raw"

    # --- one step of each state; it takes something from the buffer, or waits for more

    def _read_head(self) -> Iterator[Part]:
        end = self._buffer.find(b"\n\r\n")
        bare = self._buffer.find(b"\n\n")
        if end < 0 and bare < 0:
            if len(self._buffer) > _MAX_HEAD_BYTES:
                raise HttpFramingError(f"a head of more than {_MAX_HEAD_BYTES} bytes")
            return
        at = bare + 2 if end < 0 or 0 <= bare < end else end + 3
        raw = self._buffer[:at]
        first, *fields = [line.rstrip(b"\r") for line in raw.strip(b"\r\n").split(b"\n")]
        head = Head(first, fields)
        self._check(head)
        self._buffer = self._buffer[at:]
        yield Part("head", raw, head=head)
        yield from self._begin_body(head)

    def _check(self, head: Head) -> None:
        words = head.first.split(b" ", 2)
        is_response = self._method_asked is not None
        version = words[0] if is_response else words[-1]
        if len(words) < (2 if is_response else 3) or not version.startswith(b"HTTP/1."):
            raise HttpFramingError("this is no HTTP/1.1")
        if is_response and not words[1].isdigit():
            raise HttpFramingError("a response without a status")

    def _begin_body(self, head: Head) -> Iterator[Part]:
        headers = head.headers()
        if self._method_asked is not None and self._has_no_body(head):
            yield Part("end")
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            self._state = "size"
        elif "content-length" in headers:
            yield from self._begin_length(headers["content-length"])
        elif self._method_asked is not None:
            self._state = "rest"
        else:
            yield Part("end")

    def _has_no_body(self, head: Head) -> bool:
        """Tell whether a response ends with its head."""
        assert self._method_asked is not None
        if head.status == 101:
            self.pass_raw()
            return False
        if head.status < 200:
            return True
        return self._method_asked() == "HEAD" or head.status in (204, 304)

    def _begin_length(self, length: str) -> Iterator[Part]:
        if not length.isdigit():
            raise HttpFramingError(f"a content-length of {length[:40]!r}")
        self._left = int(length)
        if self._left:
            self._state = "length"
        else:
            yield Part("end")

    def _read_length(self) -> Iterator[Part]:
        piece = self._take(self._left)
        self._left -= len(piece)
        yield Part("body", piece, piece)
        if not self._left:
            self._state = "head"
            yield Part("end")

    def _read_size(self) -> Iterator[Part]:
        line = self._line()
        if line is None:
            return
        try:
            size = int(line.split(b";")[0].strip(), 16)
        except ValueError:
            self._buffer = line + self._buffer
            raise HttpFramingError(f"a chunk of size {line[:40]!r}") from None
        self._left = size
        self._state = "chunk" if size else "trailer"
        yield Part("body", line)

    def _read_chunk(self) -> Iterator[Part]:
        if self._left > 0:
            piece = self._take(self._left)
            self._left -= len(piece)
            yield Part("body", piece, piece)
            return
        line = self._line()
        if line is not None:
            self._state = "size"
            yield Part("body", line)

    def _read_trailer(self) -> Iterator[Part]:
        line = self._line()
        if line is None:
            return
        yield Part("body", line)
        if not line.strip():
            self._state = "head"
            yield Part("end")

    def _read_rest(self) -> Iterator[Part]:
        piece = self._take(len(self._buffer))
        yield Part("body", piece, piece)

    def _read_raw(self) -> Iterator[Part]:
        yield Part("body", self._take(len(self._buffer)))

    def _take(self, most: int) -> bytes:
        piece, self._buffer = self._buffer[:most], self._buffer[most:]
        return piece

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\n") + 1
        if not end:
            if len(self._buffer) > _MAX_LINE_BYTES:
                raise HttpFramingError("a line without an end")
            return None
        return self._take(end)

    _steps: Final = {
        "head": _read_head,
        "length": _read_length,
        "size": _read_size,
        "chunk": _read_chunk,
        "trailer": _read_trailer,
        "rest": _read_rest,
        "raw": _read_raw,
    }
