"""Says what is wrong with how a server writes to its standard output."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from wigwag.doctor.findings import Finding, Severity
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.output_reading import Output, OutputFault
from wigwag.doctor.process_checks.start import Start

__all__ = ["output_findings"]

_SHOWN_LINES: Final = 5

_WORDS: Final[dict[OutputFault, tuple[Severity, str, str]]] = {
    "byte-order-mark": (
        "error",
        "the output of the server begins with a byte order mark, so its first message is no JSON",
        "write UTF-8 without one: in .NET `new UTF8Encoding(false)`, in Python `utf-8`, not "
        "`utf-8-sig`",
    ),
    "carriage-return-lines": (
        "error",
        "the server ends lines with a carriage return alone",
        "end each message with a line feed",
    ),
    "content-length-framing": (
        "error",
        "the server writes `Content-Length` headers, as LSP has them",
        "write each message as one line, without headers",
    ),
    "message-over-several-lines": (
        "error",
        "the server writes a message over several lines",
        "write JSON without indentation and line ends: one message a line",
    ),
    "no-line-end": (
        "error",
        "the server does not end its message with a line feed, so that no host takes it for whole",
        "write a line feed behind each message",
    ),
    "not-json-rpc": (
        "error",
        'the server writes JSON that is no message: it has no `"jsonrpc": "2.0"`',
        'give each message `"jsonrpc": "2.0"`, and write anything else to standard error',
    ),
    "not-utf-8": (
        "error",
        "the output of the server is not UTF-8",
        "write UTF-8 whatever the system's encoding is: `PYTHONUTF8=1` in `env`, for example",
    ),
    "several-messages-in-a-line": (
        "error",
        "the server writes several messages into one line",
        "write a line feed behind each message",
    ),
    "utf-16": (
        "error",
        "the output of the server is UTF-16",
        "write UTF-8; a PowerShell that passes it on is often the cause",
    ),
}
_ESCAPE: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NPM: Final = re.compile(r"^> \S+@\S+ \S+", re.MULTILINE)


async def output_findings(
    output: Output, start: Start, patience: Patience
) -> AsyncIterator[Finding]:
    """Yield what is wrong with the output of a server, and where that was written if it shows."""
    for fault, evidence in output.faults.items():
        if fault == "banner-on-stdout":
            yield await _of_junk(output.junk, start, patience)
        else:
            severity, what, change = _WORDS[fault]
            yield Finding(fault, severity, what, evidence, change)


async def _of_junk(junk: list[str], start: Start, patience: Patience) -> Finding:
    text = _ESCAPE.sub("", "\n".join(junk[:_SHOWN_LINES]))
    more = f"\n... and {len(junk) - _SHOWN_LINES} lines more" if len(junk) > _SHOWN_LINES else ""
    evidence = text + more
    what = "the server writes to standard output what is no message, and hosts fail to read it"
    if _NPM.search(text):
        change = "start the program itself, or silence what starts it: `npm run --silent`"
        return Finding("banner-on-stdout", "error", what, evidence, change)
    from wigwag.doctor.process_checks.printing import find_printing  # noqa: PLC0415 - most servers are quiet

    place = await find_printing(junk, start, patience)
    if place is not None:
        what = f"{place} writes to standard output what is no message; hosts fail to read it"
    change = (
        "write to standard error instead: `print(..., file=sys.stderr)`, `console.error(...)`, a "
        "logger that is set up for it"
    )
    return Finding("banner-on-stdout", "error", what, evidence, change)
