"""Reads what a server wrote to its standard output: its messages, and what should not be there.

Spec: basic/transports/stdio
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

__all__ = ["Output", "OutputFault", "read_output"]

OutputFault = Literal[
    "banner-on-stdout",
    "byte-order-mark",
    "carriage-return-lines",
    "content-length-framing",
    "message-over-several-lines",
    "no-line-end",
    "not-json-rpc",
    "not-utf-8",
    "several-messages-in-a-line",
    "utf-16",
]

_EXCERPT: Final = 300
_MAX_LINES_OF_A_MESSAGE: Final = 2000
_DECODER: Final = json.JSONDecoder()
# A line has junk before a message, or two of them; what has more beginnings is no message.
_MAX_BEGINNINGS: Final = 100


class Output(Struct):
    """What was read.

    Attributes:
        messages: The messages, also those that were wrongly put.
        faults: What is wrong with how they were put, each with the first words that show it.
        junk: The lines that are no messages at all.
    """

    messages: list[dict[str, Any]]
    faults: dict[OutputFault, str]
    junk: list[str]

    def response(self, request_id: str | int) -> dict[str, Any] | None:
        """Return the response to a request, of whatever shape; `None` while there is none."""
        for message in self.messages:
            answers = "method" not in message and message.get("id") == request_id
            if answers and type(message["id"]) is type(request_id):
                return message
        return None


def read_output(data: bytes) -> Output:
    r"""Read all that a server has written, forgiving whatever can be forgiven.

    >>> read_output(b'Ready!\n{"jsonrpc":"2.0","id":1,"result":{}}\n').junk
    ['Ready!']
    """
    return _Reading(data).output


class _Reading:
    def __init__(self, data: bytes) -> None:
        self.output = Output([], {}, [])
        text = self._decode(data)
        whole, _, rest = text.rpartition("\n")
        lines = self._without_framing(self._lines(whole)) if whole else iter(())
        self._read(list(lines))
        self._read_unended(rest)

    def _note(self, fault: OutputFault, evidence: str) -> None:
        self.output.faults.setdefault(fault, evidence[:_EXCERPT])

    # --- bytes

    def _decode(self, data: bytes) -> str:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff") or (data[:1] == b"{" and data[1:2] == b"\0"):
            self._note("utf-16", repr(data[:20]))
            encoding = "utf-16-be" if data[:2] == b"\xfe\xff" else "utf-16-le"
            return data.decode(encoding, "replace").removeprefix("\ufeff")
        if data.startswith(b"\xef\xbb\xbf"):
            self._note("byte-order-mark", repr(data[:20]))
            data = data[3:]
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data":  # else there is more to come
                around = data[max(0, error.start - 20) : error.end + 20]
                self._note("not-utf-8", repr(around))
            # Most likely the code page of Windows: read so that the message is not lost.
            return data.decode("cp1252", "replace")

    # --- lines

    def _lines(self, text: str) -> Iterator[str]:
        for line in text.split("\n"):
            line = line.removesuffix("\r")
            pieces = [piece for piece in line.split("\r") if piece.strip()]
            if len(pieces) > 1 and all(_is_message(_parsed(piece)) for piece in pieces):
                self._note("carriage-return-lines", repr(line[:80]))
                yield from pieces
            elif line.strip():
                yield line

    def _without_framing(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            name, colon, length = line.partition(":")
            if colon and name.lower() == "content-length" and length.strip().isdigit():
                self._note("content-length-framing", line)
            elif "content-length-framing" not in self.output.faults or name != "Content-Type":
                yield line

    # --- messages

    def _read(self, lines: list[str]) -> None:
        at = 0
        while at < len(lines):
            at += self._read_at(lines, at)

    def _read_at(self, lines: list[str], at: int) -> int:
        """Read the message or the junk that begins at a line; return how many lines that is."""
        line = lines[at]
        value = _parsed(line)
        if value is not _NOTHING:
            self._take(value, line)
            return 1
        found = list(_objects_in(line))
        if found:
            self._read_mixed(line, found)
            return 1
        if line.lstrip()[:1] in ("{", "["):
            height, value = _over_several(lines, at)
            if height:
                self._note("message-over-several-lines", "\n".join(lines[at : at + 4]))
                self._take(value, line)
                return height
        self._junk(line)
        return 1

    def _read_mixed(self, line: str, found: list[tuple[int, int, dict[str, Any]]]) -> None:
        """Read a line in which there are messages, and more than one thing."""
        if len(found) > 1 and "no-line-end" not in self.output.faults:
            self._note("several-messages-in-a-line", line)
        end = 0
        for begin, stop, message in found:
            if line[end:begin].strip():
                self._junk(line[end:begin])
            self.output.messages.append(message)
            end = stop
        if line[end:].strip():
            self._junk(line[end:])

    def _read_unended(self, rest: str) -> None:
        """Read what stands behind the last line end, if it is whole."""
        if rest.endswith("\r") and _is_message(_parsed(rest.strip("\r").split("\r")[0])):
            self._note("carriage-return-lines", repr(rest[-80:]))
            self._read(rest.strip("\r").split("\r"))
            return
        if not rest.strip():
            return
        value = _parsed(rest)
        found = [] if value is not _NOTHING else list(_objects_in(rest))
        if _is_message(value):
            self._note("no-line-end", rest[-80:])
            self._take(value, rest)
        elif found:
            self._note("no-line-end", rest[-80:])
            self._read_mixed(rest, found)
        elif rest.lstrip()[:1] not in ("{", "["):
            self._junk(rest)

    def _take(self, value: Any, line: str) -> None:
        batch = value if isinstance(value, list) and value else [value]
        for one in batch:
            if not isinstance(one, dict):
                self._junk(line)
                return
            if one.get("jsonrpc") != "2.0":
                self._note("not-json-rpc", line)
            self.output.messages.append(one)

    def _junk(self, line: str) -> None:
        self._note("banner-on-stdout", line.strip())
        self.output.junk.append(line.strip())


_NOTHING: Final = object()
_BEGINNINGS_OF_JSON: Final = frozenset('{["-0123456789tfnIN')


def _parsed(text: str) -> Any:
    if text.lstrip()[:1] not in _BEGINNINGS_OF_JSON:  # most junk: to fail to parse it is slow
        return _NOTHING
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOTHING


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "jsonrpc" in value


def _objects_in(line: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the messages in a line that has something else, too: where each begins and ends."""
    at = line.find("{")
    for _ in range(_MAX_BEGINNINGS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(line, at)
        except (ValueError, RecursionError):
            at = line.find("{", at + 1)
            continue
        if _is_message(value):
            yield at, end, value
        at = line.find("{", end)


def _over_several(lines: list[str], at: int) -> tuple[int, Any]:
    """Return over how many lines a JSON document goes that begins here, and the document."""
    text = ""
    for height, line in enumerate(lines[at : at + _MAX_LINES_OF_A_MESSAGE], 1):
        text += line + "\n"
        # Only such a line can end it; else reading would take the square of its length.
        if line.rstrip()[-1:] in ("}", "]"):
            value = _parsed(text)
            if value is not _NOTHING:
                return height, value
    return 0, None
