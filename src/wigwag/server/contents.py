"""What resource functions return, as the contents of resources. Spec: server/resources."""

from __future__ import annotations

import base64
from typing import Any

from wigwag.schema import (
    BlobResourceContents,
    ReadResourceResult,
    ResourceContents,
    TextResourceContents,
)
from wigwag.server.results import encode_value


def to_contents(value: Any, uri: str, mime_type: str | None) -> ReadResourceResult:
    """Turn what a resource function returned into a result.

    Raises:
        InvalidOutput: JSON has no form for it.
    """
    if isinstance(value, ReadResourceResult):
        return value
    if isinstance(value, ResourceContents):
        return ReadResourceResult(contents=[value])
    if isinstance(value, list) and value and all(isinstance(v, ResourceContents) for v in value):
        return ReadResourceResult(contents=value)
    if isinstance(value, bytes | bytearray | memoryview):
        blob = base64.b64encode(value).decode()
        kind = mime_type or "application/octet-stream"
        return ReadResourceResult(
            contents=[BlobResourceContents(uri=uri, blob=blob, mime_type=kind)]
        )
    if isinstance(value, str):
        text, kind = value, mime_type or "text/plain"
    else:
        text, kind = encode_value(value).decode(), mime_type or "application/json"
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=kind)])
