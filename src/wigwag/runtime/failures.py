"""Turns what a handler raised into what the peer may know of it; the only place that does."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Iterator
from typing import Any, TypeVar

from msgspec import UNSET

from wigwag.errors import RequestFailed, ToolError
from wigwag.jsonrpc.codes import INTERNAL_ERROR

T = TypeVar("T")


class InvalidOutput(Exception):
    """A handler returned what it did not declare, or what JSON has no form for; the text says so.

    That is a fault of the handler, and what is said of it holds no secrets.
    """


async def without_leaving(work: Awaitable[T]) -> T:
    """Wait for what a handler does; that it would end the program is a failure like any other.

    Raises:
        RuntimeError: It raised what is no `Exception`: it called `sys.exit`, for example.
    """
    try:
        return await work
    except Exception:
        raise
    except BaseException as error:
        if must_pass(error):
            raise
        deliberate = deliberate_failure(error, "a handler")
        if deliberate is not None:
            raise deliberate from None
        raise RuntimeError(f"the handler {_deed(error)}") from error


def must_pass(error: BaseException) -> bool:
    """Tell whether an exception comes from outside: somebody ends the handler, or the program.

    A handler may raise the same ones itself, and then it has failed like with any other. Call this
    where the exception is caught, in the task of the handler.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return not _is_raised_by_a_handler(error)
    return False


def _is_raised_by_a_handler(error: BaseException) -> bool:
    """Tell a `raise` from what the interpreter does on Ctrl+C, or when it closes a coroutine."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    import dis  # noqa: PLC0415 - this is as rare as can be

    code = trace.tb_frame.f_code
    on_interrupt: Any = signal.getsignal(signal.SIGINT)
    if code is getattr(getattr(on_interrupt, "func", on_interrupt), "__code__", None):
        return False  # how the program itself treats Ctrl+C
    return dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def _deed(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"called sys.exit({error.code!r})"
    return f"raised {type(error).__name__}"


def deliberate_failure(error: BaseException, what: str) -> RequestFailed | ToolError | None:
    """Return what a handler has raised on purpose, for the client or for the model to read.

    Of a group it is what is in it: a `RequestFailed` before all else, or the texts of all the
    `ToolError`s. What else there is in it goes to the log.
    """
    if isinstance(error, RequestFailed | ToolError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    leaves = list(_leaves(error))
    refused = [leaf for leaf in leaves if isinstance(leaf, RequestFailed)]
    texts = dict.fromkeys(text_of(leaf) for leaf in leaves if isinstance(leaf, ToolError))
    if not refused and not texts:
        return None
    if not all(isinstance(leaf, RequestFailed | ToolError) for leaf in leaves):
        reference = log_failure(error, what)
        texts[f"and an internal error (reference {reference} in the server's log)"] = None
    return refused[0] if refused else ToolError("; ".join(texts))


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def text_of(error: BaseException) -> str:
    """Return the text of an exception; its name, where it has none that can be had."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - it is the user's
        return type(error).__name__


def describe_failure(error: BaseException, what: str, side: str = "server") -> tuple[int, str, Any]:
    """Return code, message and data of the error response for an exception of a handler.

    A `RequestFailed` is meant for the peer. Anything else may hold secrets: it goes to the log, and
    the peer gets a reference to find it there.
    """
    deliberate = deliberate_failure(error, what)
    if isinstance(deliberate, RequestFailed):
        data = UNSET if deliberate.data is None else deliberate.data
        code = deliberate.code
        if type(code) is not int:  # the protocol has no others
            code = INTERNAL_ERROR
        return code, sendable(str(deliberate.message)), data
    if deliberate is not None:  # of a resource or a prompt: it is meant to be read as well
        return INTERNAL_ERROR, sendable(text_of(deliberate)), UNSET
    reference = log_failure(error, what, side)
    if isinstance(error, InvalidOutput):
        why = sendable(str(error))
        return (
            INTERNAL_ERROR,
            f"{what} failed: {why} (reference {reference} in the {side}'s log)",
            UNSET,
        )
    return INTERNAL_ERROR, f"Internal error (reference {reference} in the {side}'s log)", UNSET


def log_failure(error: BaseException, what: str, side: str = "server") -> str:
    """Write an exception to the log, with its traceback, and return the reference to it."""
    reference = os.urandom(4).hex()
    logger = logging.getLogger(f"wigwag.{side}")
    logger.error("%s failed (reference %s)", what, reference, exc_info=error)
    return reference


def sendable(text: str) -> str:
    """Return a text without what UTF-8 has no form for."""
    return text.encode("utf-8", "replace").decode()
