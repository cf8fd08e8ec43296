"""Fits values to a revision: leaves out what it lacks, says in its words what it cannot say.

What has to be done to a type for a revision is worked out once, from the data in `revisions`, and
kept; for most pairs it is nothing, and then `project` returns its argument.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import fields, replace

from wigwag.schema.basic import SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY
from wigwag.schema.content import ResourceLink, TextContent, ToolResultContent, ToolUseContent
from wigwag.schema.revisions import (
    LEGACY_REVISIONS,
    REVISIONS,
    TYPES,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    has_member,
    name_of,
)

if TYPE_CHECKING:  # values of these types come only from those who have loaded them
    from wigwag.schema.basic import NotificationParams, Result
    from wigwag.schema.capabilities import ClientCapabilities
    from wigwag.schema.content import AudioContent, UnknownContent
    from wigwag.schema.elicitation import ElicitRequestFormParams, ElicitResult
    from wigwag.schema.sampling import (
        CreateMessageRequestParams,
        CreateMessageResult,
        SamplingMessage,
    )
    from wigwag.schema.tools import CallToolResult, Tool

T = TypeVar("T")
Rewrite = Callable[[Any], Any]

# The types of Python that become something else than an object in JSON.
_NO_OBJECTS: Final = (str, int, float, bytes, bytearray, list, tuple, set, frozenset)
_MODERN_META_KEYS: Final = (SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY)


def project(value: T, revision: str) -> T:
    """Return the value as the revision can say it, which often is the value itself.

    Members that the revision lacks are left out, at every depth; a content block of a type that it
    lacks becomes text. Members that the revision demands are not added.

    >>> from wigwag.schema import Tool
    >>> tool = Tool(name="add", title="Add", input_schema={"type": "object"})
    >>> project(tool, V2025_03_26).title
    UNSET

    Args:
        value: A value of one of this package's types, or a list or a dict of such values.
        revision: One of `REVISIONS`.

    Raises:
        KeyError: There is no such revision.
    """
    kind = value.__class__
    plans = _PLANS[revision]
    try:
        plan = plans[kind]
    except KeyError:
        plan = plans[kind] = _make_plan(kind, revision)
    if plan is None:
        return value
    projected: T = plan(value)
    return projected


_Plan = Callable[[Any], Any]
"""What is to be done to the values of one type for one revision; `None` is nothing."""


class _StructPlan:
    def __init__(
        self,
        *,
        revision: str,
        rewrites: tuple[Rewrite, ...],
        drops: tuple[str, ...],
        visits: tuple[str, ...],
        is_sparse: bool,
    ) -> None:
        self._revision = revision
        self._plans = _PLANS[revision]
        self._rewrites = rewrites  # what no rule about members can say, done first
        self._drops = drops  # the members that the revision lacks
        self._visits = visits  # the members that may hold something to be done
        names = (*drops, *visits)
        # Where all of them may be absent, they mostly are.
        self._look = attrgetter(*names) if is_sparse and len(names) > 1 else None
        self._nothing = (UNSET,) * len(names)

    def __call__(self, value: Any) -> Any:
        kind = value.__class__
        for rewrite in self._rewrites:
            value = rewrite(value)
            if value.__class__ is not kind:
                return project(value, self._revision)
        if self._look is not None and self._look(value) == self._nothing:
            return value
        changes: dict[str, Any] = {}
        for name in self._drops:
            if getattr(value, name) is not UNSET:
                changes[name] = UNSET
        for name in self._visits:
            member = getattr(value, name)
            if self._plans.get(member.__class__, _make_plan) is not None:
                projected = project(member, self._revision)
                if projected is not member:
                    changes[name] = projected
        return replace(value, **changes) if changes else value


class _ListPlan:
    def __init__(self, revision: str, plans: dict[type, _Plan | None]) -> None:
        self._revision = revision
        self._plans = plans

    def __call__(self, values: list[Any]) -> list[Any]:
        plans = self._plans
        for value in values:
            if plans.get(value.__class__, _make_plan) is not None:
                break
        else:
            return values
        projected = [project(value, self._revision) for value in values]
        if all(new is old for new, old in zip(projected, values, strict=True)):
            return values
        return projected


class _DictPlan:
    def __init__(self, revision: str) -> None:
        self._revision = revision

    def __call__(self, values: dict[str, Any]) -> dict[str, Any]:
        projected = {key: project(value, self._revision) for key, value in values.items()}
        if all(projected[key] is value for key, value in values.items()):
            return values
        return projected


def _first_plans(revision: str) -> dict[type, _Plan | None]:
    plans: dict[type, _Plan | None] = {dict: _DictPlan(revision), UnsetType: None}
    plans[list] = _ListPlan(revision, plans)
    return plans


_PLANS: Final = {revision: _first_plans(revision) for revision in REVISIONS}


def _make_plan(kind: type, revision: str) -> _Plan | None:
    if not issubclass(kind, Struct):
        return None
    names = set(map(name_of, kind.__mro__))
    rewrites = tuple(
        rewrite for name, rewrite, revisions in _REWRITES if name in names and revision in revisions
    )
    members = [(field.name, field.type) for field in fields(kind)]
    drops = tuple(name for name, _ in members if not has_member(kind, name, revision))
    visits = tuple(
        name
        for name, type_ in members
        if name not in drops and any(_needs_plan(part, revision) for part in _structs_in(type_))
    )
    if not (rewrites or drops or visits):
        return None
    required = {field.name for field in fields(kind) if field.required}
    return _StructPlan(
        revision=revision,
        rewrites=rewrites,
        drops=drops,
        visits=visits,
        is_sparse=required.isdisjoint((*drops, *visits)),
    )


def _needs_plan(kind: type, revision: str) -> bool:
    # Where a block of text may stand, one of a type that nobody here knows may stand as well.
    return issubclass(kind, TextContent) or _make_plan(kind, revision) is not None


def _structs_in(type_: Any) -> list[type]:
    if isinstance(type_, type) and issubclass(type_, Struct):
        return [type_]
    return [struct for part in get_args(type_) for struct in _structs_in(part)]


def _drop_modern_meta(value: Result | NotificationParams) -> Any:
    if isinstance(value.meta, UnsetType) or not any(key in value.meta for key in _MODERN_META_KEYS):
        return value
    meta = {key: member for key, member in value.meta.items() if key not in _MODERN_META_KEYS}
    return replace(value, meta=meta or UNSET)


def _drop_structured_content_but_objects(value: ToolResultContent) -> Any:
    return value if _is_object(value) else replace(value, structured_content=UNSET)


def _wrap_structured_content(result: CallToolResult) -> CallToolResult:
    """Make an object of structured content that is none: `{"result": …}`, as others do it."""
    if result.structured_content is UNSET or _is_object(result):
        return result
    return replace(result, structured_content={"result": result.structured_content})


def _is_object(value: CallToolResult | ToolResultContent) -> bool:
    content = value.structured_content
    if isinstance(content, Raw):
        return bytes(content).lstrip().startswith(b"{")
    return content is not None and not isinstance(content, _NO_OBJECTS)


def _wrap_output_schema(tool: Tool) -> Tool:
    """Describe what `_wrap_structured_content` makes of what is no object."""
    schema = tool.output_schema
    if isinstance(schema, UnsetType) or schema.get("type") == "object":
        return tool
    beside: dict[str, Any] = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = {key: _moved(value) for key, value in schema.items() if key not in beside}
    if "$defs" in beside:
        beside["$defs"] = _moved(beside["$defs"])
    wrapped: dict[str, Any] = {"type": "object", "properties": {"result": inner}}
    return replace(tool, output_schema=wrapped | {"required": ["result"]} | beside)


def _moved(part: Any) -> Any:
    """Let references of a schema point to where it has moved; its definitions stay at the root."""
    if isinstance(part, list):
        return [_moved(item) for item in part]
    if not isinstance(part, dict):
        return part
    moved = {key: _moved(value) for key, value in part.items()}
    reference = part.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        is_inside = reference == "#" or reference.startswith("#/")
        if is_inside and not reference.startswith("#/$defs/"):
            moved["$ref"] = "#/properties/result" + reference[1:]
    return moved


def _drop_elicitation_by_url_alone(capabilities: ClientCapabilities) -> ClientCapabilities:
    elicitation = capabilities.elicitation
    if (
        isinstance(elicitation, UnsetType)
        or elicitation.url is UNSET
        or elicitation.form is not UNSET
    ):
        return capabilities
    return replace(capabilities, elicitation=UNSET)


def _simplify_form(params: ElicitRequestFormParams) -> Any:
    properties = params.requested_schema.get("properties")
    if not isinstance(properties, dict):
        return params
    plain = {name: _simplify_field(schema) for name, schema in properties.items()}
    if plain == properties:
        return params
    return replace(params, requested_schema=params.requested_schema | {"properties": plain})


def _simplify_field(schema: Any) -> Any:
    """Put titles of choices beside them, drop defaults, and ask for a list as a text."""
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind != "boolean":
        schema = {key: value for key, value in schema.items() if key != "default"}
    if kind == "array":
        return _as_text(schema)
    if "oneOf" not in schema:
        return schema
    rest = {key: value for key, value in schema.items() if key != "oneOf"}
    options = schema["oneOf"]
    return rest | {
        "enum": [option["const"] for option in options],
        "enumNames": [option["title"] for option in options],
    }


def _as_text(schema: dict[str, Any]) -> dict[str, Any]:
    """Ask for a choice of several as a text in which they are separated by commas."""
    items = schema.get("items", {})
    choices = items.get("enum") or [option["const"] for option in items.get("anyOf", ())]
    hint = f"Any of these, separated by commas: {', '.join(choices)}"
    described = f"{schema['description']} ({hint})" if "description" in schema else hint
    title = {"title": schema["title"]} if "title" in schema else {}
    return {"type": "string", **title, "description": described}


def _join_lists(result: ElicitResult) -> ElicitResult:
    if isinstance(result.content, UnsetType):
        return result
    lists = {key: value for key, value in result.content.items() if isinstance(value, list)}
    if not lists:
        return result
    joined = {key: ", ".join(value) for key, value in lists.items()}
    return replace(result, content=result.content | joined)


def _one_message_per_block(params: CreateMessageRequestParams) -> Any:
    if all(not isinstance(m.content, list) or len(m.content) == 1 for m in params.messages):
        return params
    messages: list[SamplingMessage] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        messages += [replace(message, content=block) for block in blocks]
    return replace(params, messages=messages)


def _one_block(value: SamplingMessage | CreateMessageResult) -> Any:
    blocks = value.content
    if not isinstance(blocks, list):
        return value
    if len(blocks) == 1:
        return replace(value, content=blocks[0])
    return replace(value, content=TextContent(text="\n".join(map(_in_words, blocks))))


def _in_words(block: Any) -> str:
    match block:
        case TextContent():
            return block.text
        case ResourceLink():
            return f"[resource {block.title or block.name}: {block.uri}]"
        case ToolUseContent():
            return f"[call of tool {block.name}: {msgspec.json.encode(block.input).decode()}]"
        case ToolResultContent():
            return "\n".join(["[result of a tool]", *map(_in_words, block.content)])
        case _:
            mime_type = getattr(block, "mime_type", "unknown type")
            return f"[{block.type} of {mime_type}, which this protocol revision cannot carry]"


def _to_text(block: AudioContent | ResourceLink | ToolUseContent | ToolResultContent) -> Any:
    annotations = getattr(block, "annotations", UNSET)
    return TextContent(text=_in_words(block), annotations=annotations)


def _to_what_arrived(block: UnknownContent) -> Any:
    return block.raw


def _revisions_without(name: str) -> tuple[str, ...]:
    return tuple(revision for revision in REVISIONS if not TYPES[name].covers(revision))


_BEFORE_0618: Final = (V2024_11_05, V2025_03_26)
_BEFORE_1125: Final = (*_BEFORE_0618, V2025_06_18)
_REWRITES: Final[tuple[tuple[str, Rewrite, tuple[str, ...]], ...]] = (
    *(
        (name, _to_text, _revisions_without(name))
        for name in (
            "content.AudioContent",
            "content.ResourceLink",
            "content.ToolUseContent",
            "content.ToolResultContent",
        )
    ),
    ("content.UnknownContent", _to_what_arrived, REVISIONS),
    ("basic.Result", _drop_modern_meta, LEGACY_REVISIONS),
    ("basic.NotificationParams", _drop_modern_meta, LEGACY_REVISIONS),
    ("tools.CallToolResult", _wrap_structured_content, LEGACY_REVISIONS),
    ("content.ToolResultContent", _drop_structured_content_but_objects, LEGACY_REVISIONS),
    ("tools.Tool", _wrap_output_schema, LEGACY_REVISIONS),
    ("capabilities.ClientCapabilities", _drop_elicitation_by_url_alone, (V2025_06_18,)),
    ("elicitation.ElicitRequestFormParams", _simplify_form, (V2025_06_18,)),
    ("elicitation.ElicitResult", _join_lists, (V2025_06_18,)),
    ("sampling.CreateMessageRequestParams", _one_message_per_block, _BEFORE_1125),
    ("sampling.SamplingMessage", _one_block, _BEFORE_1125),
    ("sampling.CreateMessageResult", _one_block, _BEFORE_1125),
)
"""What is done to the types of this package, and those derived from them, by `name_of`."""
