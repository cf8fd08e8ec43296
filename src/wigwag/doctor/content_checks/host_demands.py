"""Holds tools to what hosts demand of them, and names the hosts that refuse one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from wigwag.doctor.content_checks.hosts import (
    HOSTS,
    ArraysHaveItems,
    Draft202012,
    Host,
    MaxTools,
    NameLength,
    NoKeywordAtRoot,
    PropertyName,
    Rule,
    ToolName,
)
from wigwag.doctor.content_checks.json_schemas import problem_in_2020_12, subschemas
from wigwag.doctor.findings import Finding

__all__ = ["check_host_demands", "check_number_of_tools"]

# Names of servers in configurations are seldom longer.
_ROOM_FOR_SERVER: Final = 10

# The code of the finding, what hosts do not take, and what to change.
_WORDS: Final[dict[type[Any], tuple[str, str, str]]] = {
    ToolName: (
        "tool-name-refused",
        "the name of a tool",
        "rename it: 1 to 64 letters, digits, _ and - are taken everywhere, with a letter first",
    ),
    NameLength: (
        "tool-name-long",
        "a long name of a tool, together with that of its server",
        "give it a shorter name, or the server a short one in the configuration",
    ),
    PropertyName: (
        "argument-name-refused",
        "the name of an argument",
        "rename the argument: 1 to 64 letters, digits, _, . and -",
    ),
    NoKeywordAtRoot: (
        "schema-root-refused",
        "alternatives at the root of an input schema",
        "make it one object with all properties, of which those that not every alternative has are "
        "optional; or put the alternatives into a property",
    ),
    ArraysHaveItems: (
        "array-without-items",
        "an array that does not say what its items are",
        'give each array `items`; `{"type": "string"}`, say',
    ),
    Draft202012: (
        "schema-not-2020-12",
        "an input schema that is none of draft 2020-12",
        "write it in that draft: `prefixItems` in place of a list of `items`, `exclusiveMinimum` "
        "as a number",
    ),
}


def check_host_demands(tools: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Yield what hosts refuse of each tool, with the hosts and their words.

    Args:
        tools: As the server lists them.
    """
    for tool in tools:
        name = tool.get("name")
        if not isinstance(name, str):
            continue  # which is told elsewhere
        for kind in _WORDS:
            yield from _about(tool, name, kind)


def _about(tool: dict[str, Any], name: str, kind: type[Any]) -> Iterator[Finding]:
    """Yield what hosts say to one tool about rules of one kind."""
    refusals: list[tuple[Host, str]] = []
    faults: dict[str, None] = {}
    for host in HOSTS:
        for demand in host.demands:
            if not isinstance(demand.rule, kind):
                continue
            fault = _fault(tool, name, demand.rule)
            if fault is not None:
                refusals.append((host, demand.says))
                faults[fault] = None
    if not refusals:
        return
    code, what, change = _WORDS[kind]
    hosts = ", ".join(host.name for host, _ in refusals)
    says = "; ".join(f"{host.name}: {says}" for host, says in refusals)
    is_grave = any(host.refuses_all for host, _ in refusals)
    severity = "note" if kind is NameLength else "error" if is_grave else "warning"
    yield Finding(
        code,
        severity,  # type: ignore[arg-type]  # one of three
        f"{what} is refused by {hosts}",
        f"{', '.join(faults)} ({says})",
        change,
        name,
    )


def _fault(tool: dict[str, Any], name: str, rule: Rule) -> str | None:
    """Say how a tool breaks a rule."""
    match rule:
        case ToolName(pattern, in_words):
            return None if re.fullmatch(pattern, name) else f"{name!r} is not {in_words}"
        case NameLength(limit):
            room = limit - len(name)
            is_long = room < _ROOM_FOR_SERVER
            return f"{len(name)} of {limit} characters" if is_long else None
        case _:
            schema = tool.get("inputSchema")
            return _schema_fault(schema, rule) if isinstance(schema, dict) else None


def _schema_fault(schema: dict[str, Any], rule: Rule) -> str | None:
    match rule:
        case PropertyName(pattern, in_words):
            names = schema.get("properties")
            names = names if isinstance(names, dict) else {}
            wrong = next((name for name in names if not re.fullmatch(pattern, name)), None)
            return None if wrong is None else f"{wrong!r} is not {in_words}"
        case NoKeywordAtRoot(keywords):
            there = [keyword for keyword in keywords if keyword in schema]
            return f"{' and '.join(there)} at the root" if there else None
        case ArraysHaveItems():
            bare = [place for place, each in subschemas(schema) if _is_bare_array(each)]
            return f"no `items` in {bare[0] or 'the root'}" if bare else None
        case Draft202012():
            return problem_in_2020_12(schema)
        case _:
            return None


def _is_bare_array(schema: dict[str, Any]) -> bool:
    type_ = schema.get("type")
    is_array = type_ == "array" or (isinstance(type_, list) and "array" in type_)
    return is_array and "items" not in schema and "prefixItems" not in schema


def check_number_of_tools(count: int) -> Iterator[Finding]:
    """Yield a finding if there are more tools than some hosts take."""
    limits: dict[int, list[tuple[str, str]]] = {}
    for host in HOSTS:
        for demand in host.demands:
            if isinstance(demand.rule, MaxTools) and count > demand.rule.count:
                limits.setdefault(demand.rule.count, []).append((host.name, demand.says))
    if not limits:
        return
    refused = [f"{name} takes {limit}: {says}" for limit in limits for name, says in limits[limit]]
    yield Finding(
        "too-many-tools",
        "warning",
        "there are more tools than some hosts take, and those of other servers count, too",
        f"{count} tools\n" + "\n".join(refused),
        "join tools that do similar things, or offer them in groups that are switched on when they "
        "are needed",
        "tools",
    )
