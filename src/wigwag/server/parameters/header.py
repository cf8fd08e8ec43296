"""The mark of an argument that a header repeats. Spec: server/tools#x-mcp-header."""

from __future__ import annotations

import msgspec


def Header(name: str) -> msgspec.Meta:  # noqa: N802 - it is written like a class, as `Depends` is
    """Mark a parameter whose value travels in a header too, where gateways see it.

    >>> from typing import Annotated
    >>> from wigwag import Header, Server
    >>> server = Server("shop")
    >>> @server.tool
    ... def price(title: str, region: Annotated[str, Header("Region")]) -> float:
    ...     return 9.5 if region == "eu" else 8.5

    Over HTTP, in revisions that have it, calls carry `Mcp-Param-Region: eu`; a call whose header
    and argument differ is refused. The argument is text, a whole number or a boolean, and it may be
    a member of an object that is an argument. No two may have the same header; capitals do not
    count. Registering the tool raises `ValueError` where a rule is broken.

    Args:
        name: What follows `Mcp-Param-` in the name of the header.
    """
    return msgspec.Meta(extra_json_schema={"x-mcp-header": name})
