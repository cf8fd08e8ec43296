"""Prompts: templates of conversations that a user picks.

Spec: server/prompts
"""

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import CacheScope, Icon, MetaObject, Role, Schema
from wigwag.schema.basic import Result
from wigwag.schema.content import ContentBlock
from wigwag.schema.input_required import InputResponseRequestParams
from wigwag.schema.pagination import PaginatedResult


class PromptArgument(Schema, kw_only=True, frozen=True):
    """Something to fill in."""

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET


class Prompt(Schema, kw_only=True, frozen=True):
    """A template and what it takes.

    Spec: server/prompts#prompt
    """

    name: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    arguments: list[PromptArgument] | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class PromptMessage(Schema, kw_only=True, frozen=True):
    """One message of a prompt, with exactly one block.

    Spec: server/prompts#promptmessage
    """

    role: Role
    content: ContentBlock


class ListPromptsResult(PaginatedResult, kw_only=True, frozen=True):
    """One page of prompts.

    Spec: server/prompts#listing-prompts
    """

    prompts: list[Prompt]
    ttl_ms: int | float | UnsetType = UNSET
    cache_scope: CacheScope | UnsetType = UNSET


class GetPromptRequestParams(InputResponseRequestParams, kw_only=True, frozen=True):
    """Which prompt to fill in, with what.

    Spec: server/prompts#getting-a-prompt
    """

    name: str
    arguments: dict[str, str] | UnsetType = UNSET


class GetPromptResult(Result, kw_only=True, frozen=True):
    """A prompt, filled in.

    Spec: server/prompts#getting-a-prompt
    """

    messages: list[PromptMessage]
    description: str | UnsetType = UNSET
