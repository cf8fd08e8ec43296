"""Holds `wigwag.schema` to the facts about the five published schemas, in both directions.

Every definition and every member of every revision has its type here, with the same name, the same
type of value and the same demand to be there; and the types, the data on revisions and the table of
methods hold nothing that is in no revision. What differs on purpose is listed at the top.
"""

import json
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import pytest
from msgspec import Raw, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from tests.facts.table import (
    REVISIONS,
    Array,
    Const,
    Intersection,
    Map,
    Member,
    Object,
    Primitive,
    Ref,
    Type,
    Union,
    definitions,
)
from wigwag import schema
from wigwag.jsonrpc import codes, messages
from wigwag.schema import METHODS, Method
from wigwag.schema.revisions import MEMBERS, TYPES, has_member, has_type, name_of

V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28 = REVISIONS

# --- What is covered by something else than a type of its own name ---

JSON_RPC: dict[str, object] = {
    "Error": messages.ErrorObject,
    "JSONRPCBatchRequest": messages.Batch,
    "JSONRPCBatchResponse": messages.Batch,
    "JSONRPCError": messages.ErrorResponse,
    "JSONRPCErrorResponse": messages.ErrorResponse,
    "JSONRPCMessage": messages.Message,
    "JSONRPCNotification": messages.Notification,
    "JSONRPCRequest": messages.Request,
    "JSONRPCResponse": messages.Response,
    "JSONRPCResultResponse": messages.Response,
    "Notification": messages.Notification,
    "Request": messages.Request,
}
ERROR_CODES = {
    "HeaderMismatchError": schema.HEADER_MISMATCH,
    "InternalError": codes.INTERNAL_ERROR,
    "InvalidParamsError": codes.INVALID_PARAMS,
    "InvalidRequestError": codes.INVALID_REQUEST,
    "MethodNotFoundError": codes.METHOD_NOT_FOUND,
    "MissingRequiredClientCapabilityError": schema.MISSING_REQUIRED_CLIENT_CAPABILITY,
    "ParseError": codes.PARSE_ERROR,
    "URLElicitationRequiredError": schema.URL_ELICITATION_REQUIRED,
    "UnsupportedProtocolVersionError": schema.UNSUPPORTED_PROTOCOL_VERSION,
}
ERROR_DATA: dict[str, type[Struct]] = {
    "MissingRequiredClientCapabilityError": schema.MissingRequiredClientCapabilityData,
    "URLElicitationRequiredError": schema.URLElicitationRequiredData,
    "UnsupportedProtocolVersionError": schema.UnsupportedProtocolVersionData,
}
UNIONS_OF_MESSAGES = {
    "ClientNotification",
    "ClientRequest",
    "ClientResult",
    "ServerNotification",
    "ServerRequest",
    "ServerResult",
    # The bases of messages, and the questions inside a result.
    "InputRequest",
    "PaginatedRequest",
}
# Objects of `_meta` that are dicts here, because anybody may put anything there.
OPEN_OBJECTS = {
    "JSONObject",
    "MetaObject",
    "NotificationMetaObject",
    "ResultMetaObject",
    "SubscriptionsListenResultMetaObject",
}
# Names that say nothing which is not said elsewhere.
SYNONYMS = {
    "Annotated",  # 2024-11-05 writes `Annotations` inside everything that has them
    "EmptyResult",  # is `Result`
    "JSONArray",
    "JSONValue",
    "ResultType",  # is a string
}
# What older revisions call otherwise, or write inside something else: definition and path.
ELSEWHERE: dict[tuple[object, str], tuple[str, ...]] = {
    (schema.Annotations, V2024_11_05): ("Annotated", "annotations"),
    (schema.ElicitRequestFormParams, V2025_06_18): ("ElicitRequest", "params"),
    (schema.LegacyTitledEnumSchema, V2025_06_18): ("EnumSchema",),
    (schema.ResourceTemplateReference, V2024_11_05): ("ResourceReference",),
    (schema.ResourceTemplateReference, V2025_03_26): ("ResourceReference",),
    (schema.ResourceRequestParams, V2024_11_05): ("SubscribeRequest", "params"),
    (schema.ResourceRequestParams, V2025_03_26): ("SubscribeRequest", "params"),
    (schema.ResourceRequestParams, V2025_06_18): ("SubscribeRequest", "params"),
}
RENAMED = {
    (definition, revision): getattr(type_, "__name__", "")
    for (type_, revision), (definition, *path) in ELSEWHERE.items()
    if not path
}

# --- What differs on purpose ---

# Every request and notification may have `_meta`, whether its own definition repeats it or not; in
# 2026-07-28 the definitions are complete, and what they leave out is not there.
HAVE_META = (schema.RequestParams, schema.NotificationParams)
# Not told apart on the wire: contents are read as a type that has the members of both.
CONTENTS = {"BlobResourceContents": "ResourceContents", "TextResourceContents": "ResourceContents"}
BOTH_CONTENTS: set[tuple[object, str]] = {
    (schema.ResourceContents, "text"),
    (schema.ResourceContents, "blob"),
    (schema.TextResourceContents, "blob"),
    (schema.BlobResourceContents, "text"),
}
# Extensions have agreed on it for `initialize`, before a schema had it.
CONVENTIONS = {
    (schema.ClientCapabilities, "extensions", V2025_11_25),
    (schema.ServerCapabilities, "extensions", V2025_11_25),
}
# Required by some revision, and added by the protocol when a message leaves.
ADDED_LATER = {"_meta", "cacheScope", "resultType", "ttlMs"}
# JSON Schemas, which are for the tools and the users to read.
JSON_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
# Read as it comes, fractions too.
FRACTIONS_TOO = {"ttlMs"}
UNDECODED = {"InputResponse", "InputResponses"}
NO_WIRE_TYPES = {schema.Method, schema.Schema, schema.Span, schema.UnknownContent}

PRIMITIVES = {
    Any: "any",
    Raw: "any",
    bool: "boolean",
    float: "number",
    int: "integer",
    str: "string",
    type(None): "null",
}


def test_every_definition_of_every_revision_is_covered() -> None:
    missing = [
        f"{revision} {name}"
        for revision in REVISIONS
        for name in definitions(revision)
        if not _is_covered(name, revision)
    ]
    assert missing == []


def _is_covered(name: str, revision: str) -> bool:
    return (
        name in {*JSON_RPC, *ERROR_CODES, *UNIONS_OF_MESSAGES, *OPEN_OBJECTS, *SYNONYMS}
        or name.removesuffix("ResultResponse") + "Request" in definitions(revision)
        or _method_of(name, revision) is not None
        or hasattr(schema, RENAMED.get((name, revision), name))
    )


def test_the_exceptions_are_needed() -> None:
    names = {name for revision in REVISIONS for name in definitions(revision)}
    assert names >= {*JSON_RPC, *ERROR_CODES, *UNIONS_OF_MESSAGES, *OPEN_OBJECTS, *SYNONYMS}


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_types_have_the_members_of_the_revision_and_no_others(revision: str) -> None:
    problems = [
        problem
        for type_, members in _types_of(revision).items()
        for problem in _compare(type_, members, revision)
    ]
    assert problems == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_params_of_a_method_are_those_of_its_definition(revision: str) -> None:
    for definition, method in _messages(revision):
        params = _flat(Ref(definition), revision).get("params")
        types_ = _parts(method.params)
        match params and params.type:
            case None:
                assert types_ == [schema.RequestParams], definition
            case Ref():
                names = {type_.__name__ for type_ in types_}
                assert params is not None
                assert names == _fact_alternatives(params.type, revision), definition
            case inline:
                assert inline is not None
                members = _flat(inline, revision)
                assert list(_compare(types_[0], members, revision)) == [], definition


def test_a_member_is_required_when_every_revision_with_its_type_requires_it() -> None:
    problems = []
    for type_ in _structs():
        shapes = [known[type_] for known in map(_types_of, REVISIONS) if type_ in known]
        for field in fields(type_):
            name = field.encode_name
            always = all(name in shape and shape[name].is_required for shape in shapes)
            if field.required != always and not (always and name in ADDED_LATER):
                problems.append(f"{type_.__name__}.{name}")
    assert problems == []


def test_no_member_takes_a_value_that_no_revision_has() -> None:
    problems = []
    for type_ in _structs():
        for field in fields(type_):
            known = {
                option
                for revision in REVISIONS
                if (member := _types_of(revision).get(type_, {}).get(field.encode_name))
                for option in _fact_alternatives(member.type, revision)
            }
            unknown = _python_alternatives(field.type) - known
            is_inline = "object" in known and len(unknown) == 1 and bool(_structs_in(field.type))
            is_repeated = field.name == "meta" and issubclass(type_, HAVE_META) and not known
            is_other = (type_, field.name) in BOTH_CONTENTS
            if unknown and not (is_inline or is_repeated or is_other or _is_exempt(field)):
                problems.append(f"{type_.__name__}.{field.encode_name}: {sorted(unknown)}")
    assert problems == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_data_on_revisions_know_the_types_of_each(revision: str) -> None:
    known = {type_.__name__ for type_ in _structs() if has_type(type_, revision)}
    assert known == {type_.__name__ for type_ in _types_of(revision)}


def test_the_data_on_revisions_name_types_and_members_that_exist_once() -> None:
    types = {name_of(type_): type_ for type_ in _structs()}
    assert set(TYPES) <= set(types)
    for name, members in MEMBERS.items():
        type_ = types[name]
        assert set(members) <= set(type_.__struct_fields__), type_
        for member in members:
            for base in type_.__mro__[1:]:
                assert member not in MEMBERS.get(name_of(base), {}), f"{type_.__name__}.{member}"


def test_every_method_exists_in_the_revisions_that_define_it() -> None:
    for revision in REVISIONS:
        defined = {method.name for _, method in _messages(revision)}
        assert defined == {
            name
            for name, method in METHODS.items()
            if method.exists_in(revision)
            or (method.input_request and revision in schema.MODERN_REVISIONS)
        }


def test_the_kind_of_a_method_is_that_of_its_definition() -> None:
    for revision in REVISIONS:
        for name, method in _messages(revision):
            assert name.endswith(method.kind.capitalize()), name


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("kind", ["request", "notification"])
def test_each_side_may_send_what_the_revision_says(
    revision: str, side: Literal["client", "server"], kind: str
) -> None:
    union = definitions(revision).get(f"{side.capitalize()}{kind.capitalize()}")
    expected = set(_methods_in(union, revision)) if union else set()
    assert expected == {
        name
        for name, method in METHODS.items()
        if method.kind == kind and method.may_be_sent_by(side, revision)
    }


def test_the_result_of_a_method_has_the_name_of_its_request() -> None:
    for revision in REVISIONS:
        for name, method in _messages(revision):
            result = getattr(schema, name.removesuffix("Request") + "Result", schema.Result)
            assert method.result is (result if method.kind == "request" else None), name


def test_the_methods_that_may_ask_for_input_and_be_cached_are_those_of_the_revision() -> None:
    for name, method in _messages(V2026_07_28):
        response = _flat(Ref(name.removesuffix("Request") + "ResultResponse"), V2026_07_28)
        results = _options(response["result"].type) if response else ()
        assert (Ref("InputRequiredResult") in results) is method.input_required, name
        is_cacheable = any("ttlMs" in _flat(result, V2026_07_28) for result in results)
        assert is_cacheable is method.cacheable, name


def test_questions_inside_a_result_are_those_of_the_revision() -> None:
    union = definitions(V2026_07_28)["InputRequest"]
    expected = set(_methods_in(union, V2026_07_28))
    assert expected == {name for name, method in METHODS.items() if method.input_request}


def test_the_methods_that_may_become_tasks_have_the_member_that_says_so() -> None:
    for name, method in METHODS.items():
        for type_ in _parts(method.params):
            assert ("task" in type_.__struct_fields__) is method.task_augmentable, name


def test_the_capabilities_that_methods_need_exist() -> None:
    for method in METHODS.values():
        for root, path in (
            (schema.ServerCapabilities, method.server_capability),
            (schema.ClientCapabilities, method.client_capability),
        ):
            holder: type[Struct] | None = root
            for name in path:
                assert holder is not None
                found = {field.name: field.type for field in fields(holder)}
                assert name in found, method.name
                holder = next(iter(_structs_in(found[name])), None)


@pytest.mark.parametrize("name", sorted(ERROR_CODES))
def test_an_error_has_its_code_and_the_type_of_its_data(name: str) -> None:
    revisions = [revision for revision in REVISIONS if name in definitions(revision)]
    assert revisions
    for revision in revisions:
        members = _flat(Ref(name), revision)
        if "error" in members:
            members = _flat(members["error"].type, revision)
        assert members["code"].type == Const(ERROR_CODES[name])
        assert isinstance(members["data"].type, Object) is (name in ERROR_DATA)


def test_the_aliases_stand_for_what_the_newest_revision_says() -> None:
    facts = {**definitions(V2025_11_25), **definitions(V2026_07_28)}
    for name in sorted(set(facts) & set(schema.__all__) - OPEN_OBJECTS - SYNONYMS):
        alias = getattr(schema, name)
        if not isinstance(alias, type) and name not in UNDECODED:
            revision = V2026_07_28 if name in definitions(V2026_07_28) else V2025_11_25
            assert _python_alternatives(alias) == _fact_alternatives(facts[name], revision), name


# --- Where the facts about a type are ---


def _structs() -> list[type[Struct]]:
    found = [getattr(schema, name) for name in schema.__all__ if name != "EmptyResult"]
    return [value for value in found if _is_struct(value) and value not in NO_WIRE_TYPES]


def _is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Struct)


@cache
def _types_of(revision: str) -> dict[type[Struct], dict[str, Member]]:
    """Return the types that a revision has, and their members in it."""
    found: dict[type[Struct], dict[str, Member]] = {}
    for type_ in _structs():
        members = _find(type_, revision)
        if members is not None:
            _add(type_, members, revision, found)
    return found


def _add(
    type_: type[Struct],
    members: dict[str, Member],
    revision: str,
    found: dict[type[Struct], dict[str, Member]],
) -> None:
    found[type_] = members
    for field in fields(type_):
        if field.encode_name in members:
            inline = next(_inline_objects(members[field.encode_name].type), None)
            for struct in _structs_in(field.type):
                # An object that is written inside another has a type of its own here.
                if inline is not None and struct.__name__ not in definitions(revision):
                    _add(struct, dict(inline.members), revision, found)


def _find(type_: type[Struct], revision: str) -> dict[str, Member] | None:
    if type_ is schema.InputRequest:
        return _flat(Ref("Request"), revision) if revision == V2026_07_28 else None
    if type_ in ERROR_DATA.values():
        path = next([name, "error", "data"] for name, data in ERROR_DATA.items() if data is type_)
    elif (type_, revision) in ELSEWHERE:
        path = list(ELSEWHERE[type_, revision])
    elif type_.__name__ in definitions(revision):
        path = [type_.__name__]
    else:
        path = next(_paths_to_params(type_, revision), [])
    if not path or path[0] not in definitions(revision):
        return None
    members = _flat(Ref(path[0]), revision)
    for step in path[1:]:
        members = _flat(members[step].type, revision)
    return members


def _paths_to_params(type_: type[Struct], revision: str) -> Iterator[list[str]]:
    for definition, method in _messages(revision):
        params = _flat(Ref(definition), revision).get("params")
        if type_ is method.params and params and isinstance(params.type, Object):
            yield [definition, "params"]


def _inline_objects(type_: Type) -> Iterator[Object]:
    match type_:
        case Object():
            yield type_
        case Array(item):
            yield from _inline_objects(item)
        case _:
            return


def _flat(type_: Type, revision: str) -> dict[str, Member]:
    match type_:
        case Object(members):
            return dict(members)
        case Ref(name) if name in definitions(revision):
            return _flat(definitions(revision)[name], revision)
        case Intersection(parts):
            flat: dict[str, Member] = {}
            for part in parts:
                flat |= _flat(part, revision)
            return flat
        case _:
            return {}


def _messages(revision: str) -> Iterator[tuple[str, Method]]:
    for name in definitions(revision):
        method = _method_of(name, revision)
        if method is not None:
            yield name, method


def _method_of(name: str, revision: str) -> Method | None:
    method = _flat(Ref(name), revision).get("method")
    if name in UNIONS_OF_MESSAGES or method is None or not isinstance(method.type, Const):
        return None
    return METHODS[method.type.value]


def _methods_in(union: Type, revision: str) -> Iterator[str]:
    for option in _options(union):
        method = _flat(option, revision)["method"].type
        assert isinstance(method, Const)
        yield method.value


def _options(type_: Type) -> tuple[Type, ...]:
    return type_.options if isinstance(type_, Union) else (type_,)


# --- Whether the two agree ---


def _compare(type_: type[Struct], members: dict[str, Member], revision: str) -> Iterator[str]:
    where = f"{revision} {type_.__name__}"
    by_name = {field.encode_name: field for field in fields(type_)}
    tag = type_.__struct_config__.tag_field
    if tag and members.get(tag) != Member(Const(type_.__struct_config__.tag), is_required=True):
        yield f"{where}.{tag} is another constant"
    for name, member in members.items():
        if name in by_name:
            yield from _compare_member(type_, by_name[name], member, revision)
        elif name != tag:
            yield f"{where}.{name} has no attribute"
    for name, field in by_name.items():
        is_known = name in members or not has_member(type_, field.name, revision)
        if not is_known and not _may_be_more(type_, field, revision):
            yield f"{where}.{name} does not exist, and the data on revisions say that it does"


def _compare_member(
    type_: type[Struct], field: FieldInfo, member: Member, revision: str
) -> Iterator[str]:
    where = f"{revision} {type_.__name__}.{field.encode_name}"
    if not has_member(type_, field.name, revision):
        yield f"{where} exists, and the data on revisions say that it does not"
    if _is_exempt(field):
        return
    expected = _fact_alternatives(member.type, revision)
    actual = _python_alternatives(field.type)
    if _structs_in(field.type):
        expected -= {"object"}  # written inside, and compared by itself
    if "any" not in actual and not expected <= actual:
        yield f"{where} is {sorted(expected)}, not {sorted(actual)}"


def _may_be_more(type_: type[Struct], field: FieldInfo, revision: str) -> bool:
    return (
        (type_, field.name) in BOTH_CONTENTS
        or (type_, field.name, revision) in CONVENTIONS
        or (
            field.name == "meta"
            and issubclass(type_, HAVE_META)
            and revision in schema.LEGACY_REVISIONS
        )
    )


def _is_exempt(field: FieldInfo) -> bool:
    return field.encode_name in FRACTIONS_TOO | JSON_SCHEMAS or _is_undecoded(field.type)


def _is_undecoded(type_: Any) -> bool:
    return type_ is Raw or any(_is_undecoded(part) for part in typing.get_args(type_))


def _fact_alternatives(type_: Type, revision: str) -> set[str]:
    match type_:
        case Const(value):
            return {json.dumps(value)}
        case Primitive(name):
            return {name}
        case Ref(name):
            return _alternatives_of_definition(name, revision)
        case Array(inner) | Map(inner):
            return _of_each(type(type_).__name__.lower(), _fact_alternatives(inner, revision))
        case Union(options):
            return set().union(*(_fact_alternatives(option, revision) for option in options))
        case _:
            return {"object"}


def _alternatives_of_definition(name: str, revision: str) -> set[str]:
    name = RENAMED.get((name, revision), name)
    name = CONTENTS.get(name, name)
    if name in OPEN_OBJECTS:
        return {"object"}
    if _is_struct(getattr(schema, name, None)):
        return {name}
    return _fact_alternatives(definitions(revision)[name], revision)


def _python_alternatives(type_: Any) -> set[str]:
    origin = typing.get_origin(type_)
    arguments = typing.get_args(type_)
    if origin is Literal:
        return {json.dumps(value) for value in arguments}
    if origin is list:
        return _of_each("array", _python_alternatives(arguments[0]))
    if origin is dict:
        return _of_each("map", _python_alternatives(arguments[1]))
    if origin in (types.UnionType, typing.Union):
        return set().union(*(_python_alternatives(part) for part in _parts(type_)))
    if _is_struct(type_):
        return {type_.__name__ if type_.__name__ in _names() else "object"}
    return {PRIMITIVES[type_]}


def _of_each(kind: str, options: set[str]) -> set[str]:
    if kind == "map" and options == {"any"}:
        return {"object"}
    return {f"{kind}<{option}>" for option in options}


@cache
def _names() -> set[str]:
    return {name for revision in REVISIONS for name in definitions(revision)}


def _parts(type_: Any) -> list[Any]:
    if typing.get_origin(type_) in (types.UnionType, typing.Union):
        return [part for part in typing.get_args(type_) if part is not UnsetType]
    return [type_]


def _structs_in(type_: Any) -> list[type[Struct]]:
    if _is_struct(type_):
        return [type_]
    return [struct for part in typing.get_args(type_) for struct in _structs_in(part)]
