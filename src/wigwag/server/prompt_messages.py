"""What prompt functions return, as messages of prompts. Spec: server/prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from wigwag.schema import GetPromptResult, PromptMessage, TextContent
from wigwag.server.results import InvalidOutput, as_block


def to_prompt(value: Any, description: str) -> GetPromptResult:
    """Turn what a prompt function returned into a result.

    Raises:
        InvalidOutput: It is no message, and no list of messages.
    """
    if isinstance(value, GetPromptResult):
        return value
    values = value if isinstance(value, list | tuple) else [value]
    return GetPromptResult(
        description=description or UNSET, messages=[_to_message(item) for item in values]
    )


def _to_message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, str):
        return PromptMessage(role="user", content=TextContent(text=value))
    block = as_block(value)
    if block is not None:
        return PromptMessage(role="user", content=block)
    if isinstance(value, Mapping):
        content = value.get("content")
        if isinstance(content, str):
            value = {**value, "content": {"type": "text", "text": content}}
        try:
            return msgspec.convert(value, PromptMessage)
        except msgspec.ValidationError as error:
            raise InvalidOutput(f"a prompt returned a message that is none: {error}") from None
    raise InvalidOutput(
        f"a prompt returned {type(value).__name__}; text, a content block or a message is expected"
    )
