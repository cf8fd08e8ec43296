"""What `wigwag trace` shows and records, and where."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TextIO

from msgspec import Struct

from wigwag.cli.output import has_colours, without_controls

if TYPE_CHECKING:
    from wigwag.tracing.observer import Outlet
    from wigwag.tracing.records import Record, TraceHeader
    from wigwag.tracing.text import TextStyle

__all__ = ["STDERR", "STDOUT", "Shown", "can_show_arrows", "outlets_of"]

STDOUT: Final = 1
STDERR: Final = 2


class Shown(Struct, frozen=True, kw_only=True):
    """What is to be shown, and recorded.

    Attributes:
        out: Where to record; `None` for nowhere.
        quiet: Whether nothing is shown.
        as_json: Whether it is shown as lines of JSON.
        pretty: Whether messages are shown whole.
        methods: Which messages are shown.
        ids: Which requests are shown, with their answers.
        redact: More names of what is secret.
    """

    out: str | None
    quiet: bool
    as_json: bool
    pretty: bool
    methods: tuple[str, ...]
    ids: tuple[str, ...]
    redact: tuple[str, ...]


@contextmanager
def outlets_of(
    wanted: Shown,
    transport: Literal["stdio", "http"],
    target: list[str] | str,
    started: datetime,
    descriptor: int,
    on_gone: Callable[[], None] | None = None,
) -> Iterator[list[Outlet]]:
    """Open what takes the records: the file, and whoever looks at it.

    Raises:
        OSError: The file cannot be created.
    """
    from wigwag.tracing.recording_file import (  # noqa: PLC0415 - for this command alone
        open_recording,
        trace_header,
    )
    from wigwag.tracing.records import RecordWriter  # noqa: PLC0415 - as above

    header = trace_header(transport, target, started)
    with ExitStack() as stack:
        outlets: list[Outlet] = []
        if wanted.out is not None:
            file = stack.enter_context(open_recording(wanted.out))
            outlets.append(RecordWriter(file, header).write)
        if not wanted.quiet:
            outlets.append(
                stack.enter_context(_shown(wanted, header, started, descriptor, on_gone))
            )
        yield outlets


@contextmanager
def _shown(
    wanted: Shown,
    header: TraceHeader,
    started: datetime,
    descriptor: int,
    on_gone: Callable[[], None] | None,
) -> Iterator[Outlet]:
    """Open what shows the records."""
    from wigwag.tracing.printing import LinePrinter  # noqa: PLC0415 - as above

    stream = sys.stderr if descriptor == STDERR else sys.stdout
    encoding = "utf-8" if wanted.as_json else stream.encoding
    printer = LinePrinter(descriptor, encoding, on_gone)
    if wanted.as_json:
        import msgspec  # noqa: PLC0415 - as above

        def lines(record: TraceHeader | Record) -> list[str]:
            line = msgspec.json.encode(record).decode()
            return [without_controls(line) if stream.isatty() else line]

        printer.print(lines(header))
    else:
        from wigwag.tracing.text import TextRenderer  # noqa: PLC0415 - as above

        lines = TextRenderer(_style(wanted, started, stream)).lines  # type: ignore[assignment]
    try:
        yield lambda record: printer.print(lines(record))
    finally:
        printer.close()


def _style(wanted: Shown, started: datetime, stream: TextIO) -> TextStyle:
    from wigwag.tracing.text import TextStyle  # noqa: PLC0415 - for this command alone

    return TextStyle(
        pretty=wanted.pretty,
        width=shutil.get_terminal_size().columns if stream.isatty() else 1000,
        colours=has_colours(stream),
        ascii_only=not can_show_arrows(stream),
        methods=wanted.methods,
        ids=wanted.ids,
        started=started,
    )


def can_show_arrows(stream: TextIO) -> bool:
    """Tell whether a stream takes arrows and the like; not every encoding has them."""
    try:
        "→←│…".encode(stream.encoding)
    except UnicodeEncodeError:
        return False
    return True
