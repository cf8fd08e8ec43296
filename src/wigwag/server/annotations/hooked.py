"""Types that msgspec does not know, and which know themselves how they are read from JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Hook = Callable[[type, Any], Any]
Describe = Callable[[Any], dict[str, Any]]


class Faults(ValueError):
    """What is wrong with a value: sentences, each with the path to where it is, such as `.x[0]`."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        self.faults = list(dict.fromkeys(faults))
        super().__init__("; ".join(in_words(path, text) for path, text in self.faults))


class Hooked(type):
    """The type of a stand-in for an annotation: msgspec asks a hook for it, which asks it.

    Attributes:
        read: Turns what was in the JSON into a value, with the hook that is in use; raises
            `ValueError`, or `Faults`.
        describe: Makes the schema, with what makes the schema of other types.
    """

    read: Callable[[Any, Hook], Any]
    describe: Callable[[Describe], dict[str, Any]]

    def __instancecheck__(cls, instance: Any) -> bool:
        """Accept anything: msgspec makes sure of what the hook returns, and it is no instance."""
        return True


def hooked(
    name: str,
    read: Callable[[Any, Hook], Any],
    describe: Callable[[Describe], dict[str, Any]],
) -> Any:
    """Return a stand-in for an annotation."""
    kind: Any = Hooked(name, (), {})
    kind.read = read
    kind.describe = describe
    return kind


def convert(value: Any, kind: Any, hook: Hook) -> Any:
    """Turn what was in the JSON into a value.

    Raises:
        Faults: It does not fit.
    """
    try:
        return msgspec.convert(value, kind, dec_hook=hook, str_keys=True)
    except msgspec.ValidationError as error:
        raise Faults(faults_of(error)) from None


def faults_of(error: BaseException) -> list[tuple[str, str]]:
    """Return what an error of msgspec says is wrong, and where."""
    text, at, path = str(error).rpartition(" - at `$")
    if not at:
        text, path = str(error), ""
    path = path.removesuffix("`")
    cause = error.__cause__
    if isinstance(cause, Faults):
        return [(path + inner, words) for inner, words in cause.faults]
    return [(path, text[:1].lower() + text[1:])]


def in_words(path: str, text: str) -> str:
    """Return a fault as a sentence."""
    return f"{text} at `{path}`" if path else text
