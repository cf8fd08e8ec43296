"""Holds what a server sends to the types of the protocol, strictly, as the strictest hosts do."""

from __future__ import annotations

from typing import Any

import msgspec

from wigwag.doctor.findings import Finding
from wigwag.schema import METHODS

__all__ = ["check_modern_members", "fault_of"]

_HINTS = ("ttlMs", "cacheScope")


def fault_of(value: Any, type_: type[Any]) -> str | None:
    """Say what keeps a value from being one of a type; `None` if nothing does.

    >>> from wigwag.schema import Prompt
    >>> fault_of({"name": "recommend", "title": None}, Prompt)
    'Expected `str`, got `null` - at `$.title`'
    """
    try:
        msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        return str(error)
    return None


def check_modern_members(method: str, result: Any) -> list[Finding]:
    """Find what a result lacks of the members that each has in the modern era.

    Args:
        method: What was asked.
        result: What was answered.
    """
    wanted = ("resultType", *(_HINTS if METHODS[method].cacheable else ()))
    missing = [name for name in wanted if isinstance(result, dict) and name not in result]
    if not missing:
        return []
    return [
        Finding(
            "modern-members-missing",
            "warning",
            "results lack what 2026-07-28 demands of them, and strict hosts refuse them",
            f"no {', '.join(missing)}",
            'put `"resultType": "complete"` into every result, and `ttlMs` and `cacheScope` into '
            "those of lists, discover and resources (0 and `private` are safe)",
            method,
        )
    ]
