"""Turns what a handler raised into what the peer may know of it; the only place that does."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable
from typing import Any, TypeVar

from msgspec import UNSET

from wigwag.errors import RequestFailed, ToolError
from wigwag.jsonrpc.codes import INTERNAL_ERROR

T = TypeVar("T")


async def without_leaving(work: Awaitable[T]) -> T:
    """Wait for what a handler does; that it would end the program is a failure like any other.

    Raises:
        RuntimeError: It called `sys.exit`.
    """
    try:
        return await work
    except SystemExit as error:
        raise RuntimeError(f"the handler called sys.exit({error.code!r})") from error


def describe_failure(error: BaseException, what: str, side: str = "server") -> tuple[int, str, Any]:
    """Return code, message and data of the error response for an exception of a handler.

    A `RequestFailed` is meant for the peer. Anything else may hold secrets: it goes to the log, and
    the peer gets a reference to find it there.
    """
    if isinstance(error, RequestFailed):
        return error.code, error.message, UNSET if error.data is None else error.data
    if isinstance(error, ToolError):  # of a resource or a prompt: it is meant to be read as well
        return INTERNAL_ERROR, str(error) or type(error).__name__, UNSET
    reference = log_failure(error, what, side)
    return INTERNAL_ERROR, f"Internal error (reference {reference} in the {side}'s log)", UNSET


def log_failure(error: BaseException, what: str, side: str = "server") -> str:
    """Write an exception to the log, with its traceback, and return the reference to it."""
    reference = os.urandom(4).hex()
    logger = logging.getLogger(f"wigwag.{side}")
    logger.error("%s failed (reference %s)", what, reference, exc_info=error)
    return reference
