"""Looks at the MIME types and the icons that servers give to what they offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from wigwag.doctor.findings import Finding

__all__ = ["check_icons", "check_mime_type"]

_is_mime_type: Final = re.compile(
    r"[\w!#$&^.+-]+/[\w!#$&^.+*-]+(\s*;\s*[\w!#$&^.+-]+=(\"[^\"]*\"|[^\s;\"]+))*\s*"
).fullmatch
_is_size: Final = re.compile(r"\d+x\d+|any").fullmatch

# What clients that show icons are asked to support, at most.
_SHOWN: Final = ("image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp")


def check_mime_type(item: dict[str, Any], name: str) -> Iterator[Finding]:
    """Yield what is wrong with the `mimeType` of a resource, a template or contents.

    Args:
        item: What has it, as the server gave it.
        name: What it is known by.
    """
    given = item.get("mimeType")
    if isinstance(given, str) and not _is_mime_type(given):
        yield Finding(
            "mime-type-malformed",
            "warning",
            "a MIME type is none, so hosts do not know what to do with the contents",
            f"mimeType {given!r}",
            "write type/subtype, such as text/markdown or image/png; or leave it out",
            name,
        )


def check_icons(item: dict[str, Any], name: str) -> Iterator[Finding]:
    """Yield what keeps hosts from showing the icons of something; arguments as above."""
    icons = item.get("icons")
    for icon in icons if isinstance(icons, list) else ():
        fault = _icon_fault(icon) if isinstance(icon, dict) else None
        if fault is not None:
            yield Finding(
                "icon-unusable",
                "warning",
                "hosts do not show an icon",
                fault,
                "give a PNG, JPEG, SVG or WebP as an https: or a data: URI, and sizes as 48x48 or "
                "any",
                name,
            )


def _icon_fault(icon: dict[str, Any]) -> str | None:
    source, type_ = icon.get("src"), icon.get("mimeType")
    if not isinstance(source, str):
        return None  # which is told of the whole item
    scheme = source.partition(":")[0].lower()
    if scheme not in ("https", "data"):
        return f"src {source[:100]!r} is neither https: nor data:"
    if scheme == "data" and not source.lower().startswith("data:image/"):
        return f"src {source[:40]!r}… is no image"
    if isinstance(type_, str) and type_.lower() not in _SHOWN:
        return f"mimeType {type_!r}"
    sizes = icon.get("sizes")
    wrong = [size for size in sizes if not _is_size(str(size))] if isinstance(sizes, list) else []
    return f"sizes {wrong[0]!r}" if wrong else None
