"""Compares what a server offers with what it offered: what breaks whom, and what else is new."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from wigwag.testing.schema_changes import breaks_between
from wigwag.testing.schema_values import shown

Contract: TypeAlias = Mapping[str, Any]
"""What `contract_of` returns."""

# What each kind of feature is called, and who uses it.
_KINDS: Final = {
    "tools": ("tool", "who calls the tool"),
    "prompts": ("prompt", "who uses the prompt"),
    "resources": ("resource", "who reads the resource"),
    "resourceTemplates": ("resource template", "who reads by the template"),
}
# Lists of which the order says nothing.
_SETS: Final = ("required", "enum", "type")


class Change(NamedTuple):
    """One thing that is different.

    Attributes:
        whom: Whose business it is, for example "who calls the tool `add`".
        text: What is different.
    """

    whom: str
    text: str


class Changes(NamedTuple):
    """How one contract differs from another."""

    breaks: list[Change]
    """What somebody relies on, and is no more."""
    others: list[Change]
    """What is new, or said in other words."""

    def __bool__(self) -> bool:
        """Whether anything is different."""
        return bool(self.breaks or self.others)


def compare(old: Contract, new: Contract) -> Changes:
    """Compare a contract with an older one."""
    breaks: list[Change] = []
    others: list[Change] = []
    for kind, (noun, whom) in _KINDS.items():
        had, has = old.get(kind, {}), new.get(kind, {})
        added = [name for name in has if name not in had]
        for name, feature in had.items():
            who = f"{whom} `{name}`"
            if name not in has:
                breaks.append(Change(who, _gone(name, added)))
                continue
            touched: list[tuple[str, ...]] = []
            for pointer, change in _BREAKS[kind](feature, has[name], who):
                breaks.append(change)
                touched.append(pointer)
            others += _differences(feature, has[name], who, touched)
        others += [Change(f"the {noun} `{name}`", "is new") for name in added]
    breaks += _lost_capabilities(old, new)
    rest = [{**each, **dict.fromkeys(_KINDS)} for each in (old, new)]
    others += _differences(rest[0], rest[1], "the server", [("capabilities",)] if breaks else [])
    return Changes(breaks, others)


def _gone(name: str, added: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, added, n=1)
    return f"it is gone (is it `{near[0]}` now?)" if near else "it is gone"


Found: TypeAlias = Iterator[tuple[tuple[str, ...], Change]]


def _of_tool(old: Contract, new: Contract, who: str) -> Found:
    for pointer, text in breaks_between(old["inputSchema"], new["inputSchema"], "input"):
        yield ("inputSchema", *pointer), Change(who, f"argument {text}")
    if "outputSchema" not in old:
        return
    if "outputSchema" not in new:
        yield ("outputSchema",), Change(who, "it has no structured result any more")
        return
    for pointer, text in breaks_between(old["outputSchema"], new["outputSchema"], "output"):
        yield ("outputSchema", *pointer), Change(who, f"result {text}")


def _of_prompt(old: Contract, new: Contract, who: str) -> Found:
    had, has = old.get("arguments", {}), new.get("arguments", {})
    for name in had:
        if name not in has:
            yield ("arguments", name), Change(who, f"argument `{name}` is gone")
    for name, argument in has.items():
        if argument.get("required") and not had.get(name, {}).get("required"):
            yield ("arguments", name), Change(who, f"argument `{name}` is required now")


def _of_resource(old: Contract, new: Contract, who: str) -> Found:
    for member, noun in (("name", "its name"), ("mimeType", "its type")):
        if member in old and old[member] != new.get(member):
            now = shown(new[member]) if member in new else "not told"
            text = f"{noun} is {now} now (it was {shown(old[member])})"
            yield (member,), Change(who, text)


_BREAKS: Final = {
    "tools": _of_tool,
    "prompts": _of_prompt,
    "resources": _of_resource,
    "resourceTemplates": _of_resource,
}


def _lost_capabilities(old: Contract, new: Contract) -> Iterator[Change]:
    had, has = old.get("capabilities", {}), new.get("capabilities", {})
    for name, settings in had.items():
        if name not in has:
            yield Change("whoever connects", f"the capability `{name}` is gone")
            continue
        for setting, value in settings.items():
            if value is True and has[name].get(setting) is not True:
                yield Change("whoever connects", f"the capability `{name}.{setting}` is gone")


# --- whatever else is different


def _differences(
    old: Any, new: Any, whom: str, touched: Sequence[tuple[str, ...]]
) -> Iterator[Change]:
    """Tell each member that is different, except below the places that have been told of."""
    for pointer, text in _different(old, new, ()):
        # What is wrong with a member has been told where the member is.
        where = (*pointer[:-1], "properties") if pointer[-1:] == ("required",) else pointer
        if not any(_is_within(where, place) for place in touched):
            yield Change(whom, f"{'.'.join(pointer)} {text}")


def _is_within(pointer: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Tell whether a pointer leads to a place or below; of members, to where they all are."""
    return pointer[: len(place)] == place or (
        pointer[-1:] == ("properties",) and place[: len(pointer)] == pointer
    )


def _different(
    old: Any, new: Any, pointer: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*old, *new]):
            place = (*pointer, name)
            if name not in new:
                yield place, f"is gone (it was {shown(old[name])})"
            elif name not in old:
                yield place, f"is new: {shown(new[name])}"
            else:
                yield from _different(old[name], new[name], place)
    elif _in_order(old, pointer) != _in_order(new, pointer):
        yield pointer, f"is {shown(new)} (it was {shown(old)})"


def _in_order(value: Any, pointer: tuple[str, ...]) -> Any:
    if isinstance(value, list) and pointer and pointer[-1] in _SETS:
        return sorted(value, key=json.dumps)
    return value
