"""Tools: functions that a server lets a model call.

Spec: server/tools
"""

from typing import Any, Literal

from msgspec import UNSET, Raw, UnsetType, field

from wigwag.schema.base import CacheScope, Icon, JSONObject, MetaObject, Schema
from wigwag.schema.basic import Result
from wigwag.schema.content import ContentBlock, TextContent
from wigwag.schema.input_required import InputResponseRequestParams
from wigwag.schema.pagination import PaginatedResult
from wigwag.schema.task_metadata import TaskMetadata


class ToolAnnotations(Schema, kw_only=True, frozen=True):
    """Hints about what a tool does; never to be trusted from a server that is not.

    Spec: schema#toolannotations
    """

    title: str | UnsetType = UNSET
    read_only_hint: bool | UnsetType = UNSET
    """It changes nothing. Absent means false."""
    destructive_hint: bool | UnsetType = UNSET
    """What it changes may be lost. Absent means true."""
    idempotent_hint: bool | UnsetType = UNSET
    """Calling it twice does no more than calling it once. Absent means false."""
    open_world_hint: bool | UnsetType = UNSET
    """It reaches things beyond the server. Absent means true."""


class ToolExecution(Schema, kw_only=True, frozen=True):
    """How a tool wants to be run.

    Spec: 2025-11-25 basic/utilities/tasks#tool-level-negotiation
    """

    task_support: Literal["forbidden", "optional", "required"] | UnsetType = UNSET


class Tool(Schema, kw_only=True, frozen=True):
    """A function and what it takes.

    Spec: server/tools#tool
    """

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    input_schema: JSONObject
    """A JSON Schema of type `object`."""
    output_schema: JSONObject | UnsetType = UNSET
    """A JSON Schema of the structured content; before 2026-07-28 of type `object`."""
    annotations: ToolAnnotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    execution: ToolExecution | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ListToolsResult(PaginatedResult, kw_only=True, frozen=True):
    """One page of tools.

    Spec: server/tools#listing-tools
    """

    tools: list[Tool]
    ttl_ms: int | float | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class CallToolRequestParams(InputResponseRequestParams, kw_only=True, frozen=True):
    """Which tool to call, with what.

    Spec: server/tools#calling-tools
    """

    name: str
    arguments: Raw | UnsetType = UNSET
    """An object, or absent; undecoded, because only the tool knows its shape."""
    task: TaskMetadata | UnsetType = UNSET


class CallToolResult(Result, kw_only=True, frozen=True):
    """What a tool has returned, or how it failed.

    Spec: server/tools#tool-result
    """

    content: list[ContentBlock]
    structured_content: Any | UnsetType = UNSET
    """Any JSON value, `None` included; only `UNSET` means that there is none."""
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text of all blocks of text, a line end between them."""
        blocks = (block.text for block in self.content if isinstance(block, TextContent))
        return "\n".join(blocks)
