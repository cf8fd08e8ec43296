"""Sampling: the server asks the client's model.

Spec: client/sampling
"""

from typing import Literal

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import JSONObject, MetaObject, Role, Schema
from wigwag.schema.content import SamplingMessageContentBlock, TextContent
from wigwag.schema.task_metadata import TaskAugmentedRequestParams
from wigwag.schema.tools import Tool


class SamplingMessage(Schema, kw_only=True, frozen=True):
    """One message of the conversation that the model continues.

    Spec: client/sampling#message-content
    """

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    """One block; from 2025-11-25 on also a list of them."""
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ModelHint(Schema, kw_only=True, frozen=True):
    """A part of the name of a model that would do."""

    name: str | UnsetType = UNSET


class ModelPreferences(Schema, kw_only=True, frozen=True):
    """What matters in the choice of the model, each from 0 to 1.

    Spec: client/sampling#model-preferences
    """

    hints: list[ModelHint] | UnsetType = UNSET
    """In order of preference."""
    cost_priority: float | UnsetType = UNSET
    speed_priority: float | UnsetType = UNSET
    intelligence_priority: float | UnsetType = UNSET


class ToolChoice(Schema, kw_only=True, frozen=True):
    """Whether the model may, must or must not use tools; absent means that it may.

    Spec: client/sampling#tool-choice-modes
    """

    mode: Literal["auto", "required", "none"] | UnsetType = UNSET


class CreateMessageRequestParams(TaskAugmentedRequestParams, kw_only=True, frozen=True):
    """The conversation to continue, and how.

    Spec: client/sampling#creating-messages
    """

    messages: list[SamplingMessage]
    max_tokens: int
    model_preferences: ModelPreferences | UnsetType = UNSET
    system_prompt: str | UnsetType = UNSET
    include_context: Literal["none", "thisServer", "allServers"] | UnsetType = UNSET
    temperature: float | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    metadata: JSONObject | UnsetType = UNSET
    """For the provider of the model."""
    tools: list[Tool] | UnsetType = UNSET
    tool_choice: ToolChoice | UnsetType = UNSET


class CreateMessageResult(Schema, kw_only=True, frozen=True):
    """What the model has said.

    Spec: client/sampling#creating-messages
    """

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]
    """One block; from 2025-11-25 on also a list of them."""
    model: str
    stop_reason: str | UnsetType = UNSET
    """`endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of the provider's."""
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)

    @property
    def text(self) -> str:
        """The text of all blocks of text, a line end between them."""
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return "\n".join(block.text for block in blocks if isinstance(block, TextContent))
