"""What prompt functions return, as messages of prompts. Spec: server/prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from wigwag.schema import ContentBlock, GetPromptResult, PromptMessage, Role, TextContent
from wigwag.server.results.tool_results import InvalidOutput, as_block, encode_value


class Message:
    """A message of a prompt.

    >>> def review(code: str) -> list[Message]:
    ...     return [UserMessage("Review this:"), UserMessage(code), AssistantMessage("Let me see.")]

    Args:
        content: Text, a content block, an `Image`, `Audio` or `File`; anything else is JSON.
        role: Who says it.

    Raises:
        InvalidOutput: JSON has no form for the content.
    """

    def __init__(self, content: Any, role: Role = "user") -> None:
        self.role: Role = role
        self.content = _to_block(content)

    def __repr__(self) -> str:
        """Who says what."""
        return f"{type(self).__name__}({self.content!r}, role={self.role!r})"

    def to_message(self) -> PromptMessage:
        """Return it as the protocol has it."""
        return PromptMessage(role=self.role, content=self.content)


class UserMessage(Message):
    """A message of the user in a prompt; see `Message`."""

    def __init__(self, content: Any) -> None:
        super().__init__(content, "user")


class AssistantMessage(Message):
    """A message of the assistant in a prompt; see `Message`."""

    def __init__(self, content: Any) -> None:
        super().__init__(content, "assistant")


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
    if isinstance(value, Message):
        return value.to_message()
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


def _to_block(content: Any) -> ContentBlock:
    if isinstance(content, str):
        return TextContent(text=content)
    return as_block(content) or TextContent(text=encode_value(content).decode())
