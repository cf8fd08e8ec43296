"""Gets the lists of a server page by page, as it gives them, and finds what is wrong with them."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from wigwag.client.client import Client
from wigwag.doctor.content_checks.capabilities import unanswered
from wigwag.doctor.content_checks.shapes import check_modern_members, fault_of
from wigwag.doctor.findings import Finding
from wigwag.errors import RemoteProtocolError, RequestFailed, RequestTimedOut
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.schema import (
    MODERN_REVISIONS,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_TEMPLATES_LIST,
    TOOLS_LIST,
    Prompt,
    Resource,
    ResourceTemplate,
    Tool,
)

__all__ = ["KINDS", "Kind", "Listed", "list_everything"]

# Who has more pages or items than this will never be listed by a host to the end.
_MAX_PAGES: Final = 200
_MAX_ITEMS: Final = 10_000


class Kind(NamedTuple):
    """A kind of things that a server lists."""

    name: str
    capability: str
    method: str
    member: str
    item_type: type[Any]
    key: str
    """The member by which one is told from another."""


KINDS: Final = (
    Kind("tool", "tools", TOOLS_LIST, "tools", Tool, "name"),
    Kind("prompt", "prompts", PROMPTS_LIST, "prompts", Prompt, "name"),
    Kind("resource", "resources", RESOURCES_LIST, "resources", Resource, "uri"),
    Kind(
        "resource template",
        "resources",
        RESOURCES_TEMPLATES_LIST,
        "resourceTemplates",
        ResourceTemplate,
        "uriTemplate",
    ),
)


class Listed(Struct):
    """What a server has listed of one kind.

    Attributes:
        kind: The kind.
        items: All that are objects, as the server gave them.
        findings: What is wrong with the list.
    """

    kind: Kind
    items: list[dict[str, Any]]
    findings: list[Finding]


async def list_everything(client: Client, kind: Kind) -> Listed:
    """Get a list to its end.

    Raises:
        TransportError: The server has gone.
    """
    listed = Listed(kind, [], [])
    try:
        await _read_pages(client, listed)
    except RequestFailed as error:
        if error.code == METHOD_NOT_FOUND and not listed.items:
            # Many that have resources have no templates, and say so in this way.
            if kind.method != RESOURCES_TEMPLATES_LIST:
                listed.findings.append(unanswered(kind.capability, kind.method, error))
        else:
            listed.findings.append(_fails(kind, str(error)))
    except (RemoteProtocolError, RequestTimedOut) as error:
        listed.findings.append(_fails(kind, str(error)))
    for index, item in enumerate(listed.items):
        problem = fault_of(item, kind.item_type)
        if problem is not None:
            listed.findings.append(_malformed_item(kind, _name_of(item, kind, index), problem))
    listed.findings += _duplicates(listed)
    return listed


async def _read_pages(client: Client, listed: Listed) -> None:
    kind = listed.kind
    cursor: Any = None
    before: list[Any] = []
    while len(before) < _MAX_PAGES and len(listed.items) < _MAX_ITEMS:
        page = await client.request(kind.method, {} if cursor is None else {"cursor": cursor})
        fault = _page_fault(page, kind)
        if fault is not None:
            listed.findings.append(_malformed_list(kind, fault))
        if client.revision in MODERN_REVISIONS and not before:
            listed.findings += check_modern_members(kind.method, page)
        items = page.get(kind.member) if isinstance(page, dict) else None
        if not isinstance(items, list):
            return
        listed.items += [item for item in items if isinstance(item, dict)]
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str):
            return
        if cursor in before:
            listed.findings.append(_loops(kind, cursor, len(before) + 1))
            return
        before.append(cursor)
    listed.findings.append(_has_no_end(kind, len(before), len(listed.items)))


def _page_fault(page: Any, kind: Kind) -> str | None:
    """Say what is wrong with a page, apart from its items."""
    if not isinstance(page, dict):
        return "the result is no object"
    items = page.get(kind.member)
    if not isinstance(items, list):
        given = "absent" if kind.member not in page else msgspec.json.encode(items).decode()[:60]
        return f"`{kind.member}` must be an array; it is {given}"
    if not all(isinstance(item, dict) for item in items):
        return f"the items of `{kind.member}` must be objects"
    if "nextCursor" in page and not isinstance(page["nextCursor"], str):
        given = msgspec.json.encode(page["nextCursor"]).decode()[:60]
        return f"`nextCursor` must be a string or absent; it is {given}"
    return None


def _duplicates(listed: Listed) -> list[Finding]:
    kind = listed.kind
    names = Counter(item[kind.key] for item in listed.items if isinstance(item.get(kind.key), str))
    if any(finding.code == "cursor-loops" for finding in listed.findings):
        return []  # they are all there several times
    return [
        Finding(
            f"duplicate-{kind.name.replace(' ', '-')}",
            "error",
            f"two {kind.name}s cannot be told apart; some hosts then refuse all of them",
            f"{kind.key} {name!r} is listed {times} times",
            f"give each {kind.name} a {kind.key} of its own",
            name,
        )
        for name, times in names.items()
        if times > 1
    ]


def _name_of(item: dict[str, Any], kind: Kind, index: int) -> str:
    name = item.get(kind.key) or item.get("name")
    return name if isinstance(name, str) and name else f"{kind.member}[{index}]"


def _malformed_item(kind: Kind, name: str, problem: str) -> Finding:
    return Finding(
        f"malformed-{kind.name.replace(' ', '-')}",
        "error",
        f"a {kind.name} is not as its schema wants it; strict hosts then refuse the whole list",
        problem,
        "put that right; a member that is absent is left out rather than null",
        name,
    )


def _malformed_list(kind: Kind, fault: str) -> Finding:
    return Finding(
        "malformed-list",
        "error",
        f"hosts cannot read the list of {kind.name}s",
        f"{kind.method}: {fault}",
        "answer with the members that the protocol names; what is absent is left out, never null",
        kind.member,
    )


def _fails(kind: Kind, evidence: str) -> Finding:
    return Finding(
        "list-fails",
        "error",
        f"the {kind.name}s of the server cannot be listed",
        f"{kind.method}: {evidence}",
        "see why in the log of the server; an empty list is an answer, too",
        kind.member,
    )


def _loops(kind: Kind, cursor: str, pages: int) -> Finding:
    return Finding(
        "cursor-loops",
        "error",
        f"the list of {kind.name}s goes round in circles: hosts never come to its end",
        f"{kind.method}: nextCursor {cursor!r} came again after {pages} pages",
        "give each page another nextCursor, take the cursor that is asked with into account, and "
        "leave nextCursor out on the last page",
        kind.member,
    )


def _has_no_end(kind: Kind, pages: int, items: int) -> Finding:
    return Finding(
        "list-without-end",
        "error",
        f"the list of {kind.name}s is longer than any host reads",
        f"{kind.method}: {items} of them on {pages} pages, and more to come",
        "leave nextCursor out on the last page; offer a tool or a template where there are so many",
        kind.member,
    )
