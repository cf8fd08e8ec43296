"""Elicitation: the server asks the client's user, by a form or by a page in a browser.

Spec: client/elicitation
"""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import JSONObject, MetaObject, Schema
from wigwag.schema.basic import NotificationParams
from wigwag.schema.task_metadata import TaskAugmentedRequestParams

ElicitValue: TypeAlias = str | int | float | bool | list[str]


class ElicitRequestFormParams(TaskAugmentedRequestParams, kw_only=True, frozen=True):
    """A form for the user to fill in.

    Spec: client/elicitation#form-mode-elicitation-requests
    """

    mode: Literal["form"] | UnsetType = UNSET
    message: str
    requested_schema: JSONObject
    """A flat JSON Schema of type `object`; its properties are the fields of the form."""


class ElicitRequestURLParams(TaskAugmentedRequestParams, kw_only=True, frozen=True):
    """A page for the user to visit.

    Spec: client/elicitation#url-mode-elicitation-requests
    """

    mode: Literal["url"]
    message: str
    url: str
    elicitation_id: str | UnsetType = UNSET
    """Required in 2025-11-25 and gone from 2026-07-28."""


ElicitRequestParams: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams


class ElicitResult(Schema, kw_only=True, frozen=True):
    """What the user did.

    Spec: client/elicitation#response-actions
    """

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, ElicitValue] | UnsetType = UNSET
    """The fields of an accepted form."""
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class ElicitationCompleteNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """Which visit to a page has reached its end.

    Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
    """

    elicitation_id: str


class StringSchema(Schema, kw_only=True, frozen=True, tag_field="type", tag="string"):
    """A field for text.

    This and its siblings describe one property of a requested schema; `msgspec.to_builtins` makes
    them the dict that goes there.
    Spec: client/elicitation#supported-schema-types
    """

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    min_length: int | UnsetType = UNSET
    max_length: int | UnsetType = UNSET
    format: Literal["email", "uri", "date", "date-time"] | UnsetType = UNSET
    default: str | UnsetType = UNSET


class NumberSchema(Schema, kw_only=True, frozen=True):
    """A field for a number."""

    type: Literal["number", "integer"]
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    minimum: float | UnsetType = UNSET
    maximum: float | UnsetType = UNSET
    default: float | UnsetType = UNSET


class BooleanSchema(Schema, kw_only=True, frozen=True, tag_field="type", tag="boolean"):
    """A field for yes or no."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    default: bool | UnsetType = UNSET


class EnumOption(Schema, kw_only=True, frozen=True):
    """A value to choose, and what the user sees of it."""

    const: str
    title: str


class UntitledSingleSelectEnumSchema(
    Schema, kw_only=True, frozen=True, tag_field="type", tag="string"
):
    """A choice of one value."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    enum: list[str]
    default: str | UnsetType = UNSET


class TitledSingleSelectEnumSchema(
    Schema, kw_only=True, frozen=True, tag_field="type", tag="string"
):
    """A choice of one value among values with titles."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    one_of: list[EnumOption]
    default: str | UnsetType = UNSET


class LegacyTitledEnumSchema(Schema, kw_only=True, frozen=True, tag_field="type", tag="string"):
    """A choice of one value, with the titles in a list of their own, as 2025-06-18 has it."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    enum: list[str]
    enum_names: list[str] | UnsetType = UNSET
    default: str | UnsetType = UNSET


class UntitledEnumItems(Schema, kw_only=True, frozen=True, tag_field="type", tag="string"):
    """The values of a choice of several."""

    enum: list[str]


class TitledEnumItems(Schema, kw_only=True, frozen=True):
    """The values of a choice of several, with their titles."""

    any_of: list[EnumOption]


class UntitledMultiSelectEnumSchema(
    Schema, kw_only=True, frozen=True, tag_field="type", tag="array"
):
    """A choice of several values."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    min_items: int | UnsetType = UNSET
    max_items: int | UnsetType = UNSET
    items: UntitledEnumItems
    default: list[str] | UnsetType = UNSET


class TitledMultiSelectEnumSchema(Schema, kw_only=True, frozen=True, tag_field="type", tag="array"):
    """A choice of several values among values with titles."""

    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    min_items: int | UnsetType = UNSET
    max_items: int | UnsetType = UNSET
    items: TitledEnumItems
    default: list[str] | UnsetType = UNSET


SingleSelectEnumSchema: TypeAlias = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema
MultiSelectEnumSchema: TypeAlias = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema
EnumSchema: TypeAlias = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema
PrimitiveSchemaDefinition: TypeAlias = StringSchema | NumberSchema | BooleanSchema | EnumSchema
