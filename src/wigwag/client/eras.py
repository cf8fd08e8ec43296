"""What is known of servers from earlier connections, so that nobody is asked twice.

Spec: basic/versioning#caching
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final

__all__ = ["HTTP_SSE", "LEGACY", "MODERN", "EraCache", "eras_of_this_process"]

MODERN: Final = "modern"
LEGACY: Final = "legacy"
HTTP_SSE: Final = "http+sse"

EraCache = MutableMapping[str, str]
"""The era of each server, under its URL without query: `modern`, `legacy` or `http+sse`."""

eras_of_this_process: EraCache = {}
