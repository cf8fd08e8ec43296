"""Judges the file of a host as a whole, and where its servers are."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from wigwag.client.configuration import is_entry, read_configuration
from wigwag.doctor.configuration_checks.hosts import ConfiguredHost
from wigwag.doctor.findings import Finding
from wigwag.doctor.secrets import hide_secrets

__all__ = ["check_file", "servers_in"]

_SECTIONS: Final = ("mcpServers", "servers")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_SMART_QUOTES: Final = "\u201c\u201d\u2018\u2019"
_VALUE: Final = re.compile(r'(:\s*)"(?:\\.|[^"\\])*"?')


def servers_in(content: Mapping[str, Any], host: ConfiguredHost) -> Mapping[str, Any]:
    """Return the entries of a configuration, by their names; none where they cannot be found."""
    inner = content.get("mcp")
    places = [content, inner] if isinstance(inner, Mapping) else [content]
    for place in places:
        for section in dict.fromkeys((host.section or "", *_SECTIONS)):
            found = place.get(section)
            if isinstance(found, Mapping):
                return found
    return {}


def check_file(file: Path, host: ConfiguredHost) -> Iterator[Finding]:
    """Yield what is wrong with a file as a whole.

    Raises:
        OSError: It cannot be read.
    """
    data = file.read_bytes()
    if data.startswith(_BYTE_ORDER_MARK):
        yield Finding(
            "configuration-bom",
            "warning",
            f"{file} begins with a byte order mark, at which many hosts fail",
            repr(data[:10]),
            "save it as UTF-8 without one",
        )
    try:
        content = read_configuration(file)
    except ValueError as error:
        yield _not_json(data.decode("utf-8-sig", "replace"), str(error))
        return
    text = data.decode("utf-8-sig")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if not host.takes_comments:
            yield _not_strict(text, error, host)
    else:
        yield from _twice(text)
    yield from _sections(content, host)


# --- JSON


def _not_json(text: str, problem: str) -> Finding:
    place = re.search(r"line (\d+)", problem)
    lines = text.splitlines()
    line = lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""
    if any(mark in text for mark in _SMART_QUOTES):
        change = "replace the typographic quotation marks by plain ones"
    elif "escape" in problem:
        change = r"write each backslash twice (C:\\Users\\me), or as a slash (C:/Users/me)"
    elif "'" in line and '"' not in line:
        change = "JSON has double quotation marks only: replace the single ones"
    elif "delimiter" in problem:
        change = "a comma or a bracket is missing there, or in the line before"
    else:
        change = "correct it there, or in the line before; an editor for JSON shows where"
    evidence = f"{problem}\n{_without_values(line)}" if line else problem
    return Finding("configuration-not-json", "error", "the file is not JSON", evidence, change)


def _not_strict(text: str, error: json.JSONDecodeError, host: ConfiguredHost) -> Finding:
    line = text.splitlines()[error.lineno - 1] if text else ""
    return Finding(
        "configuration-comments",
        "error",
        f"the file has comments or trailing commas, which {host.name} does not read",
        f"line {error.lineno}: {_without_values(line)}",
        "remove them",
    )


def _without_values(line: str) -> str:
    """Return a line of the file without what may be secret."""
    return hide_secrets(_VALUE.sub(r'\1"..."', line.strip()), {})


def _twice(text: str) -> Iterator[Finding]:
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        found.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)
    for name in found:
        yield Finding(
            "duplicate-key",
            "warning",
            f"{name!r} is there twice in one object, and hosts see only the last one",
            name,
            "give each server a name of its own, and each key one value",
            name,
        )


# --- where the servers are


def _sections(content: Mapping[str, Any], host: ConfiguredHost) -> Iterator[Finding]:
    wanted = host.section or "mcpServers"
    inner = content.get("mcp")
    place = inner if isinstance(inner, Mapping) and host.section != "mcpServers" else content
    there = [name for name in _SECTIONS if name in place]
    if host.section is not None and host.section not in place and there:
        yield _wrong_section(
            f"the servers are under `{there[0]}`, and {host.name} reads `{wanted}`",
            content,
            f"rename `{there[0]}` to `{wanted}`",
        )
    elif not there:
        yield _no_section(content, wanted)
    elif not isinstance(place[there[0]], Mapping):
        yield _wrong_section(
            f"`{there[0]}` is no object, so that the servers have no names",
            content,
            f'write "{there[0]}": {{"name": {{"command": "...", "args": []}}}}',
        )
    elif not place[there[0]]:
        yield Finding(
            "no-servers",
            "warning",
            "there are no servers in the file",
            f"`{there[0]}` is empty",
            f'add one: "{there[0]}": {{"name": {{"command": "...", "args": []}}}}',
        )


def _no_section(content: Mapping[str, Any], wanted: str) -> Finding:
    near = difflib.get_close_matches(wanted.lower(), [name.lower() for name in content], n=1)
    spelt = [name for name in content if near and name.lower() == near[0]]
    if spelt:
        return _wrong_section(
            f"`{spelt[0]}` is not `{wanted}`, which hosts read",
            content,
            f"rename `{spelt[0]}` to `{wanted}`",
        )
    if is_entry(content) or any(
        isinstance(value, Mapping) and is_entry(value) for value in content.values()
    ):
        what = "the servers are not in a section of their own"
    else:
        what = f"there is no section `{wanted}`"
    return _wrong_section(
        what, content, f'put them into one: {{"{wanted}": {{"name": {{"command": "..."}}}}}}'
    )


def _wrong_section(what: str, content: Mapping[str, Any], change: str) -> Finding:
    keys = ", ".join(content) or "nothing"
    return Finding("wrong-section", "error", what, f"the file has {keys}", change)
