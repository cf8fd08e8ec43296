"""What people write in place of a URL that works."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Final

__all__ = ["misspelt_scheme"]

_with_scheme: Final = re.compile(r"([a-z]+):/{1,3}(.+)", re.IGNORECASE)
_is_address: Final = re.compile(r"[\w.:\[\]-]+([/?][^\s@]*)?").fullmatch
_LOCAL: Final = ("localhost", "127.", "[::1]", "0.0.0.0")


def misspelt_scheme(text: str) -> str | None:
    """Return what to write where the beginning of a URL is wrong; `None` where it is not that.

    >>> misspelt_scheme("htp://a.example/mcp"), misspelt_scheme("localhost:8000/mcp")
    ('write http://a.example/mcp', 'write http://localhost:8000/mcp')
    """
    text = text.strip().strip("\"'`<>")
    found = _with_scheme.fullmatch(text)
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    if not _is_address(rest):
        return None
    if scheme in ("ws", "wss"):
        return f"MCP does not use WebSockets: write http{scheme[2:]}://{rest}"
    close = get_close_matches(scheme, ("https", "http"), n=1)
    if close:
        return f"write {close[0]}://{rest}"
    return f"write {'http' if rest.startswith(_LOCAL) else 'https'}://{rest}"
