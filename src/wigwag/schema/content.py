"""Content blocks: what tool results, prompts and sampling messages are made of.

Spec: server/tools#tool-result
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import UNSET, Raw, UnsetType, field

from wigwag.schema.base import Annotations, Icon, MetaObject, Schema, TypedSchema
from wigwag.schema.resource_contents import ResourceContents


class TextContent(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="text"):
    """Text.

    Spec: server/tools#text-content
    """

    if TYPE_CHECKING:
        type: Literal["text"] = "text"
    text: str
    annotations: Annotations | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ImageContent(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="image"):
    """A picture.

    Spec: server/tools#image-content
    """

    if TYPE_CHECKING:
        type: Literal["image"] = "image"
    data: str
    """In base64."""
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class AudioContent(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="audio"):
    """A sound.

    Spec: server/tools#audio-content
    """

    if TYPE_CHECKING:
        type: Literal["audio"] = "audio"
    data: str
    """In base64."""
    mime_type: str
    annotations: Annotations | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ResourceLink(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="resource_link"):
    """A resource to read if it is wanted; `resources/list` need not mention it.

    Spec: server/tools#resource-links
    """

    if TYPE_CHECKING:
        type: Literal["resource_link"] = "resource_link"
    uri: str
    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    mime_type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    """In bytes, before any encoding."""
    annotations: Annotations | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class EmbeddedResource(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="resource"):
    """A resource with its contents.

    Spec: server/tools#embedded-resources
    """

    if TYPE_CHECKING:
        type: Literal["resource"] = "resource"
    resource: ResourceContents
    annotations: Annotations | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class UnknownContent(Schema, kw_only=True, frozen=True):
    """A block of a type that this library does not know.

    It stands in a list of blocks like any other; `project` turns it back into what arrived.
    """

    type: str
    raw: Raw
    """The whole block, as it arrived."""


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)


class ToolUseContent(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="tool_use"):
    """The model's wish to call a tool.

    Spec: client/sampling#tool-use-content
    """

    if TYPE_CHECKING:
        type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: dict[str, Any]
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ToolResultContent(
    TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="tool_result"
):
    """What a tool that the model wanted to call has returned.

    Spec: client/sampling#tool-result-content
    """

    if TYPE_CHECKING:
        type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: list[ContentBlock]
    structured_content: Any | UnsetType = UNSET
    """Any JSON value, `None` included; only `UNSET` means that there is none."""
    is_error: bool | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


SamplingMessageContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)
AnyContent: TypeAlias = ContentBlock | ToolUseContent | ToolResultContent
