"""`wigwag show`, which makes a recording readable."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import fail
from wigwag.cli.message_options import ids_option, methods_option, pretty_option
from wigwag.cli.output import has_colours, json_option, styled, without_controls
from wigwag.cli.trace_output import can_show_arrows

if TYPE_CHECKING:
    from wigwag.tracing.html_rows import PageFacts, Row
    from wigwag.tracing.records import Recording

__all__ = ["read_given", "show_command"]


@click.command("show")
@click.argument("recording", metavar="RECORDING")
@click.option("--html", "as_html", is_flag=True, help="Make a page of it, for a browser.")
@click.option(
    "--out",
    "-o",
    metavar="FILE",
    help="Where the page goes; by default beside the recording, or to a pipe if there is one.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@pretty_option
@methods_option
@ids_option
@click.option("--failures", is_flag=True, help="Only what failed, was not answered, or is junk.")
@json_option
def show_command(  # noqa: PLR0913 - the options, as they are
    *,
    recording: str,
    as_html: bool,
    out: str | None,
    opens: bool,
    pretty: bool,
    methods: tuple[str, ...],
    ids: tuple[str, ...],
    failures: bool,
    as_json: bool,
) -> None:
    r"""Make a RECORDING of `wigwag trace` readable.

    \b
        wigwag show trace.jsonl                    one message a line
        wigwag show trace.jsonl --pretty --id 3    all of request 3 and its answer
        wigwag show trace.jsonl --failures         what went wrong
        wigwag show trace.jsonl --html --open      the conversation as a diagram, in a browser

    The page is one file that loads nothing from anywhere: it can be sent to others as it is. `-`
    stands for a recording on standard input.
    """
    as_html = as_html or opens or out is not None
    if as_html and (as_json or pretty or methods or ids or failures):
        raise click.UsageError("the page has all of the recording: it is sifted there")
    read = read_given(recording, as_json=as_json)
    if as_html:
        _write_page(read, recording, out, opens=opens)
        return
    from wigwag.tracing.html_rows import rows_of  # noqa: PLC0415 - not for the help

    rows, facts = rows_of(read)
    _check_methods(methods, rows)
    if as_json:
        _print_json(
            row
            for row in rows
            if (not methods or any(fnmatchcase(row.method, each) for each in methods))
            and (not ids or (row.id or "").strip('"') in ids)
            and (not failures or row.is_failure)
        )
    else:
        _print_lines(read, facts, pretty=pretty, methods=methods, ids=ids, failures=failures)


def read_given(recording: str, *, as_json: bool = False) -> Recording:
    """Read the recording that a command was given; leave with a message if that cannot be."""
    from wigwag.tracing.records import read_recording  # noqa: PLC0415 - for the help nobody needs it

    try:
        return read_recording(sys.stdin.buffer if recording == "-" else recording)
    except FileNotFoundError:
        fail(f"there is no file {recording}", ExitCode.USAGE, as_json=as_json)
    except (OSError, ValueError) as error:
        fail(str(error), ExitCode.USAGE, as_json=as_json)


def _check_methods(patterns: Sequence[str], rows: Iterable[Row]) -> None:
    known = sorted({row.method for row in rows} - {""})
    for pattern in patterns:
        if not any(fnmatchcase(method, pattern) for method in known):
            near = get_close_matches(pattern, known, n=1)
            hint = (
                f"did you mean {near[0]}?" if near else f"there are: {', '.join(known) or 'none'}"
            )
            raise click.UsageError(f"the recording has no {pattern}; {hint}")


def _write_page(read: Recording, recording: str, out: str | None, *, opens: bool) -> None:
    from wigwag.tracing.html_page import recording_page  # noqa: PLC0415 - only here

    page = recording_page(read)
    if out == "-" or (out is None and not opens and not sys.stdout.isatty()):
        sys.stdout.buffer.write(page.encode())
        return
    if out is None:
        out = "recording.html" if recording == "-" else str(Path(recording).with_suffix(".html"))
    file = Path(out)
    if recording != "-" and file.exists() and file.samefile(recording):
        fail(f"{out} is the recording itself: name another file with --out", ExitCode.USAGE)
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {out}: {error.strerror}", ExitCode.USAGE)
    click.echo(f"wrote {out}", err=True)
    if opens:
        click.launch(file.resolve().as_uri())


def _print_json(rows: Iterable[Row]) -> None:
    import msgspec  # noqa: PLC0415 - few want this

    for row in rows:
        line = msgspec.json.encode(row)
        # Programs get it as UTF-8, whatever the encoding of texts is here.
        click.echo(without_controls(line.decode()) if sys.stdout.isatty() else line)


def _print_lines(
    read: Recording,
    facts: PageFacts,
    *,
    pretty: bool,
    methods: tuple[str, ...],
    ids: tuple[str, ...],
    failures: bool,
) -> None:
    from wigwag.client.terminal_lines import visible  # noqa: PLC0415 - as above
    from wigwag.tracing.html_rows import failures_of  # noqa: PLC0415 - as above
    from wigwag.tracing.text import TextRenderer, TextStyle  # noqa: PLC0415 - as above

    is_ascii = not can_show_arrows(sys.stdout)
    renderer = TextRenderer(
        TextStyle(
            pretty=pretty,
            width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
            colours=has_colours(sys.stdout),
            ascii_only=is_ascii,
            methods=methods,
            ids=ids,
        )
    )
    places = failures_of(read) if failures else None
    title = visible(f"{facts.target} ({facts.transport}), recorded at {facts.started}")
    if is_ascii:
        title = title.encode("ascii", "backslashreplace").decode()
    click.echo(styled(title, sys.stdout, bold=True))
    for place, record in enumerate(read.records):
        lines = renderer.lines(record)  # each, for the answers to have their requests
        if places is None or place in places:
            for line in lines:
                click.echo(line)
