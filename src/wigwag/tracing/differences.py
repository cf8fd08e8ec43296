"""Compares what was recorded with what is said now, and says where the two differ."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct

from wigwag.tracing.redaction import REDACTED

__all__ = ["Difference", "IgnoredPaths", "differences", "fits", "path_text"]

Path: TypeAlias = tuple[str | int, ...]


class Named(str):
    """A step to a thing in a list that is known by its name."""


# What a thing in a list is known by, in the order in which it is looked for.
_NAMES: Final = ("name", "uri", "uriTemplate", "taskId")

_step: Final = re.compile(r'\["(?P<quoted>[^"]*)"\]|\[(?P<index>[^\]]*)\]|(?P<name>[^.\[\]]+)|\.')
_is_plain: Final = re.compile(r"[^.\[\]]+").fullmatch


class Difference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place where two JSON values differ.

    Attributes:
        path: Where, such as `result.tools[search].description`.
        recorded: What was there; absent where nothing was.
        now: What is there now; absent where nothing is.
    """

    path: str
    recorded: Any = UNSET
    now: Any = UNSET


class IgnoredPaths:
    """Places that do not matter.

    Args:
        patterns: Each is the end of a path, such as `timestamp`, `serverInfo.version`,
            `content[*].text` or `tools[search].description`. `*` stands for any one step and `**`
            for any number of them. What is below such a place does not matter either. A method and
            a colon before it, as in `tools/call:content`, say where it holds.

    Raises:
        ValueError: One of them cannot be read.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns: list[tuple[str, tuple[str, ...]]] = []
        for pattern in patterns:
            method, colon, path = pattern.partition(":")
            if not colon:
                method, path = "", pattern
            steps = tuple(_steps(path))
            if not steps:
                raise ValueError(
                    f"{pattern!r} is no path: write one such as serverInfo.version or"
                    " tools/call:content[*].text"
                )
            self._patterns.append((method, steps))

    def has(self, path: Path, method: str = "") -> bool:
        """Tell whether a place does not matter.

        Args:
            path: The place.
            method: Of the message.
        """
        steps = tuple(map(str, path))
        return any(
            (not of or of == method) and _ends_with(steps, pattern)
            for of, pattern in self._patterns
        )


def differences(
    recorded: Any,
    now: Any,
    *,
    ignored: IgnoredPaths | None = None,
    opaque: Sequence[str] = (),
    method: str = "",
    path: Path = (),
) -> list[Difference]:
    """Return where two JSON values differ, in the order of the first.

    Things in lists that have names are compared by them, whatever their order. A text that is JSON
    in both is compared as such. What was taken out of a recording is equal to anything.

    Args:
        recorded: The one.
        now: The other.
        ignored: Places that do not matter.
        opaque: Members whose values do not matter, only that they are there.
        method: Of the message that the values are from.
        path: Where they are in it.
    """
    return list(_Comparison(ignored or IgnoredPaths(), opaque, method).compare(recorded, now, path))


def fits(recorded: Any, asked: Any) -> bool:
    """Tell whether two JSON values are equal but for what was taken out of the first."""
    return next(_Comparison(IgnoredPaths(), (), "").compare(recorded, asked, ()), None) is None


def path_text(path: Path) -> str:
    """Return a path as text."""
    text = ""
    for step in path:
        if isinstance(step, int | Named):
            text += f"[{step}]"
        elif _is_plain(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


class _Comparison:
    def __init__(self, ignored: IgnoredPaths, opaque: Sequence[str], method: str) -> None:
        self._ignored = ignored
        self._opaque = frozenset(opaque)
        self._method = method

    def compare(self, recorded: Any, now: Any, path: Path) -> Iterator[Difference]:
        if recorded is now or self._ignored.has(path, self._method):
            return
        if isinstance(recorded, dict) and isinstance(now, dict):
            yield from self._compare_objects(recorded, now, path)
        elif isinstance(recorded, list) and isinstance(now, list):
            yield from self._compare_lists(recorded, now, path)
        elif isinstance(recorded, str) and isinstance(now, str):
            yield from self._compare_texts(recorded, now, path)
        elif not _is_same(recorded, now):
            yield _difference(path, recorded, now)

    def _compare_objects(
        self, recorded: dict[str, Any], now: dict[str, Any], path: Path
    ) -> Iterator[Difference]:
        for name in dict.fromkeys([*recorded, *now]):
            one, other = recorded.get(name, UNSET), now.get(name, UNSET)
            if name in self._opaque and one is not UNSET and other is not UNSET:
                continue
            yield from self.compare(one, other, (*path, name))

    def _compare_lists(
        self, recorded: list[Any], now: list[Any], path: Path
    ) -> Iterator[Difference]:
        ours, theirs = _by_name(recorded), _by_name(now)
        if ours is not None and theirs is not None:
            for name in dict.fromkeys([*ours, *theirs]):
                one, other = ours.get(name, UNSET), theirs.get(name, UNSET)
                yield from self.compare(one, other, (*path, Named(name)))
            return
        for index in range(max(len(recorded), len(now))):
            one = recorded[index] if index < len(recorded) else UNSET
            other = now[index] if index < len(now) else UNSET
            yield from self.compare(one, other, (*path, index))

    def _compare_texts(self, recorded: str, now: str, path: Path) -> Iterator[Difference]:
        if recorded == now or _fits_text(recorded, now):
            return
        inside, inside_now = _json_in(recorded), _json_in(now)
        if inside is not None and inside_now is not None:
            yield from self.compare(inside, inside_now, path)
        else:
            yield _difference(path, recorded, now)


def _difference(path: Path, recorded: Any, now: Any) -> Difference:
    return Difference(path=path_text(path), recorded=recorded, now=now)


def _is_same(recorded: Any, now: Any) -> bool:
    if recorded == REDACTED:
        return now is not UNSET
    return bool(recorded == now) and isinstance(recorded, bool) == isinstance(now, bool)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return things by their names; `None` where not each has one of its own."""
    found: dict[str, Any] = {}
    for item in items:
        name = _name_of(item)
        if name is None or name in found:
            return None
        found[name] = item
    return found


def _name_of(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    names = (item.get(each) for each in _NAMES)
    return next((name for name in names if isinstance(name, str)), None)


def _fits_text(recorded: str, now: str) -> bool:
    """Tell whether a text is what was recorded, but for what was taken out of that."""
    if REDACTED not in recorded:
        return False
    parts = map(re.escape, recorded.split(REDACTED))
    return re.fullmatch(".*".join(parts), now, re.DOTALL) is not None


def _json_in(text: str) -> Any:
    """Return the object or array that a text is, or `None`."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _steps(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        match = _step.match(pattern, at)
        if match is None:
            raise ValueError(f"{pattern!r} is no path: {pattern[at:]!r} cannot be read")
        at = match.end()
        step = next((each for each in match.groups() if each is not None), None)
        if step is not None:
            yield step


def _ends_with(steps: Sequence[str], pattern: Sequence[str]) -> bool:
    """Tell whether the last steps of a path are those of a pattern."""
    if not pattern:
        return True
    if pattern[-1] == "**":
        return any(_ends_with(steps[:end], pattern[:-1]) for end in range(len(steps) + 1))
    if not steps or pattern[-1] not in ("*", steps[-1]):
        return False
    return _ends_with(steps[:-1], pattern[:-1])
