"""Tells an error of code that is not ours, with the places of that code and none of ours."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wigwag import errors
from wigwag.errors import McpError, ServerNotLoaded

__all__ = ["blaming_the_author", "tell_error"]

_OURS: Final = os.path.dirname(os.path.abspath(errors.__file__)) + os.sep
# What loads a file on our behalf, or runs a coroutine of its.
_FROZEN: Final = "<frozen "
_STANDARD_LIBRARY: Final = os.path.dirname(os.__file__) + os.sep
_LOADERS: Final = ("importlib", "asyncio", "runpy.py")


def tell_error(error: BaseException) -> str:
    """Return what an error says, and below it where it came from, as Python tells it.

    What had led to the error is told as well.

    Args:
        error: What was raised.
    """
    told: list[str] = []
    for each in _with_causes(error):
        shown = traceback.TracebackException.from_exception(each, compact=True)
        for frame in reversed(shown.stack):
            if _is_ours(frame.filename):
                shown.stack.remove(frame)
        said = list(shown.format_exception_only())
        where = "".join(shown.stack.format())
        if isinstance(each, SyntaxError):
            # Its place is said before what is wrong there.
            where += "".join(said[:-1])
            said = said[-1:]
        told.append(f"{''.join(said).rstrip()}\n{where}".rstrip())
    return "\ncaused by ".join(told)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        cause, context = following.__cause__, following.__context__
        following = context if cause is None and not following.__suppress_context__ else cause


def _is_ours(file: str) -> bool:
    if file.startswith((_OURS, _FROZEN)):
        return True
    below = file.removeprefix(_STANDARD_LIBRARY)
    return below != file and below.startswith(_LOADERS)


@contextmanager
def blaming_the_author(target: str) -> Iterator[None]:
    """Tell what fails once the code is loaded, as a lifespan does, as an error of that code.

    Raises:
        ServerNotLoaded: It fails.
    """
    try:
        yield
    except McpError:
        raise
    except Exception as error:  # noqa: BLE001 - it is told
        raise ServerNotLoaded(f"{target} cannot serve: {tell_error(error)}") from None
