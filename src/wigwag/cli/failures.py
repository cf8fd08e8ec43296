"""Tells what went wrong in one message, with the right exit code, and never with a traceback."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar

import click

from wigwag.cli.exit_codes import ExitCode
from wigwag.errors import (
    AuthorizationFailed,
    HttpStatusError,
    LocalProtocolError,
    McpError,
    ProtocolError,
    RequestFailed,
    RequestTimedOut,
    ServerNotLoaded,
    ToolFailed,
    TransportError,
)

__all__ = ["TELLABLE", "code_of", "fail", "leave_quietly", "run", "tell"]

T = TypeVar("T")

TELLABLE: Final = (McpError, ValueError, TypeError, OSError)
"""What the library raises for reasons that a person can do something about."""


def code_of(error: BaseException) -> ExitCode:
    """Return the exit code for what the library raised."""
    if isinstance(error, AuthorizationFailed):
        return ExitCode.UNAUTHORIZED
    if isinstance(error, HttpStatusError) and error.status in (401, 403):
        return ExitCode.UNAUTHORIZED
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return ExitCode.FAILED
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return ExitCode.FAILED


_CODES = (
    (LocalProtocolError, ExitCode.USAGE),
    (ProtocolError, ExitCode.BROKEN),
    (RequestTimedOut, ExitCode.TIMED_OUT),
    (TimeoutError, ExitCode.TIMED_OUT),
    (RequestFailed, ExitCode.REFUSED),
    ((TransportError, ServerNotLoaded), ExitCode.NOT_CONNECTED),
    (ToolFailed, ExitCode.FAILED),
    # What the library says of arguments that make no sense, and of files that cannot be read.
    ((ValueError, TypeError, OSError), ExitCode.USAGE),
)


def fail(message: str, code: ExitCode, *, as_json: bool = False) -> NoReturn:
    """Say on standard error what went wrong, and leave; with `as_json` on standard output, too."""
    tell(message, code, as_json=as_json)
    sys.exit(code)


def tell(message: str, code: ExitCode, *, as_json: bool = False) -> None:
    """Say what went wrong, as `fail` does."""
    from wigwag.client.terminal_lines import visible_lines  # noqa: PLC0415 - only failures need it

    if as_json:
        from wigwag.cli.output import print_json  # noqa: PLC0415 - few ask for it

        print_json({"error": {"kind": code.name.lower(), "message": message}})
    click.echo(f"wigwag: {visible_lines(message)}", err=True)


def run(work: Coroutine[Any, Any, T], *, as_json: bool = False) -> T:
    """Run a coroutine, and leave with a message if it fails.

    Args:
        work: What is to be done.
        as_json: Whether a failure is told as JSON.

    Raises:
        SystemExit: It failed, and why has been said.
    """
    import asyncio  # noqa: PLC0415 - half of the time that a help text would take

    if sys.stdout is None:  # closed, as by `>&-`: whoever does so wants the exit code
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the end
    try:
        return asyncio.run(work)
    except (BrokenPipeError, click.exceptions.Exit, click.ClickException):
        raise
    except TELLABLE as error:
        fail(str(error), code_of(error), as_json=as_json)


@contextmanager
def leave_quietly() -> Iterator[None]:
    """Turn Ctrl+C, a reader that has gone and a full disk into exit codes."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        _drop_output()
        sys.exit(ExitCode.READER_GONE)
    except OSError as error:
        _drop_output()
        fail(str(error), ExitCode.FAILED)


def _drop_output() -> None:
    """Let go of what cannot be written: Python would complain about it when it leaves."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
