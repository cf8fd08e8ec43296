"""Writes JSON that strangers sent, whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

__all__ = ["encode_json"]


def encode_json(value: Any) -> bytes:
    r"""Encode a value that was decoded from JSON, strict or not.

    >>> encode_json({"n": 10**30, "lone": "\ud800"})
    b'{"n": 1000000000000000000000000000000, "lone": "\\ud800"}'
    """
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode()
