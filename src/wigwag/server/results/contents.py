"""What resource functions return, as the contents of resources. Spec: server/resources."""

from __future__ import annotations

import base64
from typing import Any

from wigwag.schema import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ReadResourceResult,
    ResourceContents,
    TextContent,
    TextResourceContents,
)
from wigwag.server.results.tool_results import as_block, encode_value


def to_contents(value: Any, uri: str, mime_type: str | None) -> ReadResourceResult:
    """Turn what a resource function returned into a result.

    Text is text, bytes are a blob, an `Image` or the like is what it holds, and anything else is
    JSON. A list is several contents where there are contents, bytes or media in it.

    Args:
        value: What was returned.
        uri: What was read.
        mime_type: The type of text, bytes and JSON; by default it is told from the value.

    Raises:
        InvalidOutput: JSON has no form for it.
    """
    if isinstance(value, ReadResourceResult):
        return value
    if isinstance(value, list | tuple):
        found = [_as_contents(item, uri, mime_type) for item in value]
        if any(found):
            contents = [
                known or _to_text(item, uri, mime_type)
                for known, item in zip(found, value, strict=True)
            ]
            return ReadResourceResult(contents=contents)
    known = _as_contents(value, uri, mime_type)
    return ReadResourceResult(contents=[known or _to_text(value, uri, mime_type)])


def _as_contents(value: Any, uri: str, mime_type: str | None) -> ResourceContents | None:
    """Return a value as contents, unless it is text or to be JSON."""
    if isinstance(value, ResourceContents):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        blob = base64.b64encode(value).decode()
        kind = mime_type or "application/octet-stream"
        return BlobResourceContents(uri=uri, blob=blob, mime_type=kind)
    match as_block(value):
        case EmbeddedResource(resource=resource):
            return resource
        case TextContent(text=text):
            return _to_text(text, uri, mime_type)
        case ImageContent(data=data, mime_type=kind) | AudioContent(data=data, mime_type=kind):
            return BlobResourceContents(uri=uri, blob=data, mime_type=kind)
    return None


def _to_text(value: Any, uri: str, mime_type: str | None) -> ResourceContents:
    if isinstance(value, str):
        return TextResourceContents(uri=uri, text=value, mime_type=mime_type or "text/plain")
    text = encode_value(value).decode()
    return TextResourceContents(uri=uri, text=text, mime_type=mime_type or "application/json")
