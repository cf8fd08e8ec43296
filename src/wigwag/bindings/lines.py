r"""Newline-delimited framing, as the stdio binding defines it.

Messages are separated by a line feed and never contain one. Only the byte 0x0A ends a line: U+2028
and its kin are ordinary characters of JSON text.
Spec: basic/transports/stdio
"""

from __future__ import annotations

from typing import Final

# Numbers, for `in` takes what it looks for in bytes for one first, and is slow to find it is none.
LINE_FEED: Final = 0x0A
RETURN: Final = 0x0D

# Room for a large file in base64; a peer that never ends its line cannot take more memory.
DEFAULT_MAX_LINE_BYTES: Final = 64 * 1024 * 1024


class LineTooLong:
    """Stands where a line longer than the limit was; the line itself was thrown away.

    Attributes:
        limit: The limit, in bytes.
        head: The first bytes of the line, so that a request in it can still be answered.
    """

    __slots__ = ("head", "limit")

    def __init__(self, limit: int, head: bytes) -> None:
        self.limit = limit
        self.head = head


# How much of an overlong line is kept.
_HEAD_BYTES: Final = 4096

# When so many pieces of a line have come, they are joined.
_MAX_SMALL_PIECES: Final = 4096


class LineDecoder:
    r"""Splits a stream of bytes into lines, however the bytes were chunked.

    Feed it whatever the channel delivers; it returns the lines completed so far and keeps the rest:

    >>> decoder = LineDecoder()
    >>> decoder.feed(b'{"id":1}\r\n{"id"')
    [b'{"id":1}']
    >>> decoder.feed(b':2}\n\n')
    [b'{"id":2}']

    Empty lines are dropped, and so is a carriage return before the line feed: a peer that writes in
    text mode on Windows adds them. Work is linear in the bytes fed.

    Args:
        max_line_bytes: Longest line accepted, its line feed not counted.
    """

    def __init__(self, *, max_line_bytes: int = DEFAULT_MAX_LINE_BYTES) -> None:
        self.max_line_bytes = max_line_bytes
        self._partial: list[bytes] = []  # the pieces of the line begun but not yet ended
        self._partial_bytes = 0
        self._blocks = 0  # how many of the pieces were joined from small ones
        self._had_return = False  # a chunk of the line begun ended in a carriage return
        self._head: bytes | None = None  # set while the rest of an overlong line is thrown away

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """Add received bytes and return the lines they complete, oldest first.

        A line over the limit becomes a `LineTooLong` at the place where it stood.
        """
        lines: list[bytes | LineTooLong] = data.split(b"\n")  # type: ignore[assignment]
        rest: bytes = lines.pop()  # type: ignore[assignment]
        if not lines:
            self._keep(rest)
            self._had_return = self._had_return or rest[-1:] == b"\r"
            return lines
        if self._partial or self._head is not None:
            self._keep(lines[0])  # type: ignore[arg-type]
            lines[0] = self._take()
        if rest:
            self._keep(rest)
        if len(data) > self.max_line_bytes:
            lines = [self._check(line) for line in lines]
        if RETURN in data or self._had_return:
            self._had_return = data[-1:] == b"\r"
            lines = [_without_return(line) for line in lines]
        return [line for line in lines if line]

    def end(self) -> list[bytes | LineTooLong]:
        """Return the last line when the stream ended without a line feed behind it."""
        line = _without_return(self._take())
        return [line] if line else []

    def _keep(self, piece: bytes) -> None:
        if self._head is not None:
            return
        self._partial.append(piece)
        self._partial_bytes += len(piece)
        if self._partial_bytes > self.max_line_bytes:
            self._head = b"".join(self._partial)[:_HEAD_BYTES]
            self._clear()
        elif len(self._partial) - self._blocks > _MAX_SMALL_PIECES:
            # Each takes more memory than the few bytes in it.
            self._partial[self._blocks :] = [b"".join(self._partial[self._blocks :])]
            self._blocks += 1

    def _take(self) -> bytes | LineTooLong:
        if self._head is not None:
            head, self._head = self._head, None
            return LineTooLong(self.max_line_bytes, head)
        line = b"".join(self._partial)
        self._clear()
        return line

    def _clear(self) -> None:
        self._partial.clear()
        self._partial_bytes = 0
        self._blocks = 0

    def _check(self, line: bytes | LineTooLong) -> bytes | LineTooLong:
        if isinstance(line, bytes) and len(line) > self.max_line_bytes:
            return LineTooLong(self.max_line_bytes, line[:_HEAD_BYTES])
        return line


def encode_lines(messages: list[bytes]) -> bytes:
    r"""Frame encoded messages, one a line.

    A message that carries line feeds between its tokens (forwarded from a peer that formats its
    JSON) gets blanks in their place:

    >>> encode_lines([b'{"a":1}', b'{\n"b": 2}'])
    b'{"a":1}\n{ "b": 2}\n'
    """
    framed = messages[0] + b"\n" if len(messages) == 1 else b"\n".join([*messages, b""])
    if framed.count(b"\n") == len(messages):
        return framed
    return b"".join(text.replace(b"\n", b" ") + b"\n" for text in messages)


def _without_return(line: bytes | LineTooLong) -> bytes | LineTooLong:
    return line[:-1] if isinstance(line, bytes) and line[-1:] == b"\r" else line
