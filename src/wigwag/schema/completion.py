"""Completion: suggestions for an argument while a user types it.

Spec: server/utilities/completion
"""

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, UnsetType

from wigwag.schema.base import Schema, TypedSchema
from wigwag.schema.basic import RequestParams, Result


class PromptReference(TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="ref/prompt"):
    """The prompt whose argument is typed."""

    if TYPE_CHECKING:
        type: Literal["ref/prompt"] = "ref/prompt"
    name: str
    title: str | UnsetType = UNSET


class ResourceTemplateReference(
    TypedSchema, kw_only=True, frozen=True, tag_field="type", tag="ref/resource"
):
    """The resource template whose variable is typed."""

    if TYPE_CHECKING:
        type: Literal["ref/resource"] = "ref/resource"
    uri: str


class CompletionArgument(Schema, kw_only=True, frozen=True):
    """The argument and what has been typed of it."""

    name: str
    value: str


class CompletionContext(Schema, kw_only=True, frozen=True):
    """The arguments that are already filled in."""

    arguments: dict[str, str] | UnsetType = UNSET


class CompleteRequestParams(RequestParams, kw_only=True, frozen=True):
    """What to suggest values for.

    Spec: server/utilities/completion#requesting-completions
    """

    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: CompletionContext | UnsetType = UNSET


class Completion(Schema, kw_only=True, frozen=True):
    """The suggestions, the best first."""

    values: list[str]
    """At most 100."""
    total: int | UnsetType = UNSET
    """How many there are in all."""
    has_more: bool | UnsetType = UNSET


class CompleteResult(Result, kw_only=True, frozen=True):
    """The answer to a completion request.

    Spec: server/utilities/completion#completion-results
    """

    completion: Completion
