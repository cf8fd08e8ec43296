"""Where a token from elsewhere comes from that says who is there: a workload's JWT, an ID token.

It is read afresh each time, because the platform replaces it long before it expires.
Spec: extensions/auth
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from wigwag.errors import AuthorizationFailed
from wigwag.oauth.secret import Secret
from wigwag.runtime.callables import is_async
from wigwag.stores.threads import call_in_thread

__all__ = ["AssertionSource", "EnvironmentAssertion", "FileAssertion", "assertion_reader"]

# ID tokens with all the groups of a user are long; files that are no tokens are longer.
MAX_ASSERTION_BYTES: Final = 64 * 1024

_NOT_THERE: Final = "see that the platform provides it, and that this is its name"

AssertionSource: TypeAlias = os.PathLike[str] | Callable[..., Any]
"""A file, or a function that returns the token, which may be `async` and may take the audience."""


class FileAssertion:
    """A token in a file, such as the one that Kubernetes mounts.

    Args:
        path: Where it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def __repr__(self) -> str:
        return f"FileAssertion({str(self._path)!r})"

    async def __call__(self, audience: str = "") -> Secret:
        """Read the token.

        Raises:
            AuthorizationFailed: There is none; the text names the file, and shows nothing of it.
        """
        source = f"the file {self._path}"
        try:
            data = await call_in_thread(self._read)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise AuthorizationFailed(
                f"no assertion can be read from {source}: {reason}", "", _NOT_THERE
            ) from None
        return _checked(data, source)

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(MAX_ASSERTION_BYTES + 1)


class EnvironmentAssertion:
    """A token in an environment variable.

    Args:
        name: Its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"EnvironmentAssertion({self._name!r})"

    async def __call__(self, audience: str = "") -> Secret:
        """Read the token.

        Raises:
            AuthorizationFailed: There is none; the text names the variable, and shows nothing of
                it.
        """
        source = f"the environment variable {self._name}"
        value = os.environ.get(self._name)
        if value is None:
            raise AuthorizationFailed(f"no assertion is in {source}: it is not set", "", _NOT_THERE)
        return _checked(value, source)


def assertion_reader(source: AssertionSource) -> Callable[[str], Awaitable[Secret]]:
    """Return what reads a token from a source, for the audience that it is called with.

    A plain function is called in a thread, as it may block.

    Raises:
        TypeError: It is no source. A token itself is none, for it would soon have expired.
    """
    if isinstance(source, FileAssertion | EnvironmentAssertion):
        return source
    if isinstance(source, os.PathLike):
        return FileAssertion(source)
    if not callable(source):
        raise TypeError(
            "an assertion comes from a function, a `Path`, `FileAssertion` or "
            f"`EnvironmentAssertion`, not from {type(source).__name__}"
        )
    takes_audience = _takes_audience(source)
    blocks = not is_async(source)
    name = f"the function {getattr(source, '__qualname__', type(source).__qualname__)}"

    async def read(audience: str) -> Secret:
        args = (audience,) if takes_audience else ()
        try:
            found = await call_in_thread(lambda: source(*args)) if blocks else source(*args)
            if inspect.isawaitable(found):
                found = await found
        except AuthorizationFailed:
            raise
        except Exception as error:
            # Its text may hold what it was about to return; the traceback says where it was.
            raise AuthorizationFailed(
                f"no assertion came from {name}: it raised {type(error).__name__}", "", _CORRECT
            ) from error
        return _checked(found.reveal() if isinstance(found, Secret) else found, name)

    return read


_CORRECT: Final = "correct the function"


def _takes_audience(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # one that is built in and does not tell
        return False
    return any(each.kind is not inspect.Parameter.KEYWORD_ONLY for each in parameters)


def _checked(found: object, source: str) -> Secret:
    """Return what was found, if it can be sent as a token."""
    if isinstance(found, bytes):
        found = found.decode("utf-8-sig", "replace")
    if not isinstance(found, str):
        raise AuthorizationFailed(
            f"no assertion came from {source}: it returned {type(found).__name__}, not a text",
            "",
            _CORRECT,
        )
    text = found.strip()
    if not text:
        raise AuthorizationFailed(f"no assertion is in {source}: it is empty", "", _NOT_THERE)
    if len(text) > MAX_ASSERTION_BYTES:
        raise AuthorizationFailed(
            f"what is in {source} is no assertion: it has more than {MAX_ASSERTION_BYTES} bytes",
            "",
            _NOT_THERE,
        )
    if not text.isascii() or not text.isprintable() or " " in text:
        raise AuthorizationFailed(
            f"what is in {source} is no assertion: it has characters that no token has",
            "",
            _NOT_THERE,
        )
    return Secret(text)
