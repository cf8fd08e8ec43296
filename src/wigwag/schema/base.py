"""The base of every wire type, and the small types that many pages of the specification share.

Attributes are snake_case and become camelCase on the wire. An optional member that is not set is
`UNSET` and is left out of the JSON, because `null` is not a way to say "absent" in MCP.
Spec: schema
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import UNSET, Struct, StructMeta, UnsetType

_make = StructMeta.__call__

RequestId: TypeAlias = str | int
ProgressToken: TypeAlias = str | int
Cursor: TypeAlias = str
MetaObject: TypeAlias = dict[str, Any]
JSONObject: TypeAlias = dict[str, Any]
Role: TypeAlias = Literal["user", "assistant"]
CacheScope: TypeAlias = Literal["public", "private"]
LoggingLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]


class Schema(
    Struct,
    rename="camel",
    omit_defaults=True,
    repr_omit_defaults=True,
    kw_only=True,
    frozen=True,
    gc=False,
):
    """The base of every type that travels in a message.

    None of them can be part of a reference cycle, so the garbage collector need not look at them.
    """


class _TypedMeta(StructMeta):
    """Lets a type be made with its `type` told, as JSON has it; what is decoded is made otherwise.

    Spec: server/tools#tool-result
    """

    if not TYPE_CHECKING:  # checkers see a field of that name

        def __init__(cls, *args: Any, **options: Any) -> None:  # noqa: N805
            super().__init__(*args, **options)
            tag = cls.__struct_config__.tag
            if tag is not None:
                cls.type = tag

        def __call__(cls, **members: Any) -> Any:  # noqa: N805
            if "type" in members and (kind := members.pop("type")) != cls.type:
                raise ValueError(f"the type of a {cls.__name__} is {cls.type!r}, not {kind!r}")
            return _make(cls, **members)


class TypedSchema(Schema, metaclass=_TypedMeta, kw_only=True, frozen=True):
    """The base of types that say in a member `type` which they are."""


class Annotations(Schema, kw_only=True, frozen=True):
    """Hints about who a piece of content is for and how much it matters.

    Spec: server/resources#annotations
    """

    audience: list[Role] | UnsetType = UNSET
    priority: float | UnsetType = UNSET
    """From 0, which may be left out, to 1, which may not."""
    last_modified: str | UnsetType = UNSET
    """A moment in ISO 8601."""


class Icon(Schema, kw_only=True, frozen=True):
    """A picture to show beside a name.

    Spec: basic#icons
    """

    src: str
    """An `https:` or a `data:` URI."""
    mime_type: str | UnsetType = UNSET
    sizes: list[str] | UnsetType = UNSET
    """Each `48x48` or the like, or `any` for a picture that scales."""
    theme: Literal["light", "dark"] | UnsetType = UNSET
    """The background it was drawn for."""


class Icons(Schema, kw_only=True, frozen=True):
    """The member that everything with icons has.

    Spec: basic#icons
    """

    icons: list[Icon] | UnsetType = UNSET


class BaseMetadata(Schema, kw_only=True, frozen=True):
    """The name for programs and the title for people that features have.

    Spec: schema#basemetadata
    """

    name: str
    title: str | UnsetType = UNSET


class Implementation(Schema, kw_only=True, frozen=True):
    """The name and version of a client or of a server; nobody vouches for them.

    Spec: schema#implementation
    """

    name: str
    version: str
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    website_url: str | UnsetType = UNSET
    icons: list[Icon] | UnsetType = UNSET
