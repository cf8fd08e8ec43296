"""Functions as JSON: the schemas of their arguments, and how arguments are read."""

import functools
import inspect
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NotRequired, Optional, TypedDict, TypeVar

import msgspec
import pytest
from msgspec import UNSET, Raw
from pydantic import AfterValidator, BaseModel, Field

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.server.context import Context
from wigwag.server.parameters.dependencies import Depends
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


class Box(msgspec.Struct):
    at: Point
    name: str = "box"


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Tree(msgspec.Struct):
    name: str
    parts: list["Tree"] = []


class Item(BaseModel):
    price: float


@dataclass
class Branch:
    size: Annotated[int, Field(ge=1)]
    parts: list["Branch"] = field(default_factory=list)


@dataclass
class Metas:
    a: Annotated[int, msgspec.Meta(ge=1)]
    b: Annotated[int, AfterValidator(abs)]


class MyContext(Context):
    pass


MARK: Any = object()


def parameters(function: Callable[..., Any]) -> Parameters:
    return Parameters(function, Context)


def call(function: Callable[..., Any], arguments: bytes, context: Any = None) -> Any:
    known = parameters(function)
    return known.call(known.read(arguments), context)


def property_of(function: Callable[..., Any], name: str) -> Any:
    return parameters(function).schema["properties"][name]


def refusal(function: Callable[..., Any], arguments: bytes) -> str:
    with pytest.raises(ArgumentsRefused) as caught:
        parameters(function).read(arguments)
    return str(caught.value)


# --- which parameters there are


def test_parameters_without_defaults_are_required_and_nothing_else_is_allowed() -> None:
    def take(a: int, b: str = "x", *, c: float, d: bool = False) -> Any:
        return a, b, c, d

    assert parameters(take).schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string", "default": "x"},
            "c": {"type": "number"},
            "d": {"type": "boolean", "default": False},
        },
        "required": ["a", "c"],
        "additionalProperties": False,
    }
    assert call(take, b'{"c": 1.5, "a": 1}') == (1, "x", 1.5, False)


def test_a_function_without_parameters_takes_an_empty_object_or_nothing() -> None:
    def take() -> str:
        return "ok"

    known = parameters(take)
    assert known.schema == {"type": "object", "additionalProperties": False}
    for arguments in (b"{}", b"null", UNSET, Raw(b"{}")):
        assert known.call(known.read(arguments), None) == "ok"
    assert refusal(take, b'{"a": 1}') == "`a` is not an argument; there are none"


def test_positional_only_parameters_are_arguments_by_name() -> None:
    def take(a: int, /, b: int = 2, *, c: int = 3) -> Any:
        return a, b, c

    assert call(take, b'{"c": 5, "a": 4}') == (4, 2, 5)


def test_a_default_that_can_be_changed_is_a_new_one_for_each_call() -> None:
    usual: list[int] = [1]

    def take(a: list[int] = usual, b: dict[str, int] = {}) -> Any:  # noqa: B006 - the point
        a.append(2)
        b["x"] = 1
        return a, b

    assert call(take, b"{}") == call(take, b"{}") == ([1, 2], {"x": 1})
    assert usual == [1]
    assert property_of(take, "a")["default"] == [1]


def test_any_other_default_is_the_very_object() -> None:
    class Box:
        pass

    box = Box()

    def take(a: int = box) -> Any:  # type: ignore[assignment]
        return a

    assert call(take, b"{}") is box


def test_a_default_that_json_has_no_form_for_is_passed_and_not_described() -> None:
    def take(a: int = MARK) -> Any:
        return a

    assert property_of(take, "a") == {"type": "integer"}
    assert "required" not in parameters(take).schema
    assert call(take, b"{}") is MARK


@pytest.mark.parametrize("stars", ["args", "kwargs"])
def test_a_parameter_with_stars_is_refused_by_its_name(stars: str) -> None:
    def with_args(*args: int) -> None: ...
    def with_kwargs(**kwargs: int) -> None: ...

    function = with_args if stars == "args" else with_kwargs
    with pytest.raises(TypeError, match=rf"`\*{stars}` of .*with_{stars} cannot be an argument"):
        parameters(function)


def test_a_method_is_registered_on_an_object() -> None:
    class Thing:
        def double(self, number: int) -> int:
            return 2 * number

    with pytest.raises(TypeError, match=r"double is a method: register it on an object"):
        parameters(Thing.double)
    assert call(Thing().double, b'{"number": 2}') == 4


@pytest.mark.parametrize("name", ["schema", "copy", "json", "self_", "arguments", "type", "keys"])
def test_a_parameter_may_have_any_name(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def take({name}: int, other: int = 1): return {name}, other", namespace)
    assert call(namespace["take"], b'{"%b": 7}' % name.encode()) == (7, 1)
    assert parameters(namespace["take"]).convert({name: "7"}) is not None


def test_an_object_that_can_be_called_is_a_function() -> None:
    class Adder:
        """Adds."""

        def __call__(self, a: int, b: int = 1) -> int:
            return a + b

    assert call(Adder(), b'{"a": 2}') == 3
    assert parameters(Adder()).return_type is int


def test_what_a_partial_has_filled_in_need_not_be_given() -> None:
    def take(a: int, b: int, *, c: str) -> Any:
        return a, b, c

    assert call(partial(take, 1, c="x"), b'{"b": 2}') == (1, 2, "x")
    assert list(parameters(partial(take, 1)).types) == ["b", "c"]
    assert call(partial(take, 1, c="x"), b'{"b": 2, "c": "y"}') == (1, 2, "y")


def test_an_argument_without_an_annotation_is_any_value() -> None:
    def take(a):  # type: ignore[no-untyped-def]  # the point
        return a

    assert property_of(take, "a") == {}
    assert call(take, b'{"a": [1, {"b": null}]}') == [1, {"b": None}]
    assert call(take, b'{"a": "[1]"}') == "[1]"


# --- the context


def test_the_context_is_found_by_its_type_and_is_no_argument() -> None:
    def take(ctx: Context, a: int) -> Any:
        return ctx, a

    known = parameters(take)
    assert known.context == "ctx"
    assert list(known.schema["properties"]) == ["a"]
    assert call(take, b'{"a": 1}', MARK) == (MARK, 1)
    assert refusal(take, b'{"a": 1, "ctx": {}}') == ("`ctx` is not an argument; there are `a`")


def test_the_context_may_stand_anywhere_and_be_a_subclass_or_optional() -> None:
    def keyword(a: int, *, request: MyContext) -> Any:
        return a, request

    def optional(a: int, request: Context | None = None) -> Any:
        return a, request

    def annotated(request: Annotated[Context, "the request"]) -> Any:
        return request

    assert call(keyword, b'{"a": 1}', MARK) == (1, MARK)
    assert call(optional, b'{"a": 1}', MARK) == (1, MARK)
    assert call(annotated, b"{}", MARK) is MARK


def test_the_context_gets_to_its_place_wherever_it_stands() -> None:
    def first(context: Context, a: int, b: int = 2) -> Any:
        return context, a, b

    def between(a: int, context: Context, b: int = 2) -> Any:
        return context, a, b

    def behind(a: int, b: int, context: Context) -> Any:
        return context, a, b

    def by_name(a: int, b: int = 2, *, context: Context) -> Any:
        return context, a, b

    for function in (first, between, behind, by_name):
        assert call(function, b'{"b": 4, "a": 1}', MARK) == (MARK, 1, 4)


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_context_without_its_type_is_pointed_out(name: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def take({name}): ...", namespace)
    with pytest.raises(TypeError, match=f"`{name}` of take needs its type: `{name}: Context`"):
        parameters(namespace["take"])


def test_a_parameter_called_context_of_another_type_is_an_argument() -> None:
    def take(context: str) -> str:
        return context

    assert parameters(take).context is None
    assert call(take, b'{"context": "x"}') == "x"


# --- types


def test_optional_types_take_null() -> None:
    def take(
        a: int | None,
        b: Optional[str] = None,  # noqa: UP045 - the point
        c: int = None,  # type: ignore[assignment]  # noqa: RUF013 - the point
    ) -> Any:
        return a, b, c

    assert parameters(take).schema["required"] == ["a"]
    assert call(take, b'{"a": null, "b": null, "c": null}') == (None, None, None)
    assert call(take, b'{"a": 1, "c": 2}') == (1, None, 2)
    assert property_of(take, "c") == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
    }


def test_a_union_takes_each_of_its_types() -> None:
    def take(a: int | str | list[int]) -> Any:
        return a

    assert [call(take, b'{"a": %b}' % a) for a in (b"1", b'"x"', b"[1]")] == [1, "x", [1]]
    assert refusal(take, b'{"a": {}}') == "`a`: expected `int | str | array`, got `object`"


def test_an_enumeration_is_its_values() -> None:
    def take(colour: Colour, level: Level = Level.LOW) -> Any:
        return colour, level

    assert property_of(take, "colour") == {"type": "string", "enum": ["red", "blue"]}
    assert property_of(take, "level") == {"type": "integer", "enum": [1, 2], "default": 1}
    assert call(take, b'{"colour": "red", "level": 2}') == (Colour.RED, Level.HIGH)
    assert call(take, b'{"colour": "red"}') == (Colour.RED, Level.LOW)
    assert "one of 'red', 'blue'" in refusal(take, b'{"colour": "green"}')


def test_a_literal_of_numbers_names_its_values() -> None:
    def take(size: Literal[3, 1, 2] = 3) -> Any:
        return size

    assert property_of(take, "size") == {"type": "integer", "enum": [3, 1, 2], "default": 3}
    assert "it must be one of 3, 1, 2" in refusal(take, b'{"size": 9}')


def test_dates_and_paths_are_text() -> None:
    def take(at: datetime, day: date, file: Path) -> Any:
        return at, day, file

    properties = parameters(take).schema["properties"]
    assert properties == {
        "at": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "file": {"type": "string", "format": "path"},
    }
    assert call(take, b'{"at": "2026-01-02T03:04:05Z", "day": "2026-01-02", "file": "a/b"}') == (
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        date(2026, 1, 2),
        Path("a/b"),
    )
    assert "`at`: invalid RFC3339" in refusal(take, b'{"at": "soon", "day": "x", "file": "a"}')


def test_dataclasses_structs_and_typed_dicts_are_objects() -> None:
    def take(point: Point, box: Box, movie: Movie) -> Any:
        return point, box, movie

    assert property_of(take, "movie") == {
        "type": "object",
        "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
        "required": ["title"],
    }
    assert property_of(take, "box")["properties"]["at"]["required"] == ["x"]
    assert call(
        take, b'{"point": {"x": 1}, "box": {"at": {"x": 1, "y": 2}}, "movie": {"title": "M"}}'
    ) == (Point(1), Box(Point(1, 2)), {"title": "M"})
    assert refusal(take, b'{"point": {"x": "a"}, "box": {"at": {}}, "movie": {"title": "M"}}') == (
        "`point`: expected `int`, got `str` at `.x`; "
        "`box`: object missing required field `x` at `.at`"
    )


def test_a_recursive_type_is_defined_once_in_the_schema_of_all_arguments() -> None:
    def take(tree: Tree, other: Tree | None = None) -> Any:
        return tree

    schema = parameters(take).schema
    assert list(schema["$defs"]) == ["Tree"]
    assert schema["properties"]["tree"]["properties"]["parts"]["items"] == {"$ref": "#/$defs/Tree"}
    assert call(take, b'{"tree": {"name": "a", "parts": [{"name": "b"}]}}').parts[0].name == "b"


def test_a_type_that_json_has_no_form_for_is_refused_by_the_name_of_its_parameter() -> None:
    class Socket:
        pass

    def take(fine: int, socket: Socket) -> None: ...

    with pytest.raises(TypeError, match=r"(?s)parameter `socket` of .*take: .*Socket"):
        parameters(take)


def test_of_types_that_json_cannot_tell_apart_the_one_that_fits_best_is_taken() -> None:
    def take(either: Box | Tree) -> Any:
        return either

    assert call(take, b'{"either": {"at": {"x": 1}}}') == Box(Point(1))
    assert call(take, b'{"either": {"name": "a", "parts": []}}') == Tree("a")
    assert refusal(take, b'{"either": {}}') == (
        "`either`: it fits none of its types: as `Box`, object missing required field `at`; "
        "as `Tree`, object missing required field `name`"
    )


def test_a_constraint_that_does_not_suit_its_type_is_refused_by_the_name_of_its_parameter() -> None:
    def take(size: Annotated[int, msgspec.Meta(pattern="^x")]) -> None: ...

    with pytest.raises(TypeError, match=r"parameter `size` of .*take: .*pattern"):
        parameters(take)


def test_a_described_type_with_the_default_none_takes_null() -> None:
    def take(
        a: Annotated[int, "How many."] = None,  # type: ignore[assignment]  # noqa: RUF013 - the point
    ) -> Any:
        return a

    assert call(take, b"{}") is call(take, b'{"a": null}') is None
    assert call(take, b'{"a": 1}') == 1


def test_descriptions_come_from_annotations_before_docstrings() -> None:
    def take(
        a: Annotated[int, msgspec.Meta(description="From the type.")],
        b: int,
        c: Annotated[int, "As text."] = 1,
    ) -> None:
        """Take.

        Args:
            a: From the docstring.
            b: From the docstring.
            c: From the docstring.
        """

    properties = parameters(take).schema["properties"]
    assert properties["a"]["description"] == "From the type."
    assert properties["b"]["description"] == "From the docstring."
    assert properties["c"]["description"] == "As text."
    assert parameters(take).description == "Take."


def test_a_constraint_is_in_the_schema_and_holds() -> None:
    def take(a: Annotated[int, msgspec.Meta(ge=1, le=9)] = 5) -> int:
        return a

    assert property_of(take, "a") == {
        "type": "integer", "minimum": 1, "maximum": 9, "default": 5,
    }  # fmt: skip
    assert refusal(take, b'{"a": 10}') == "`a`: expected `int` <= 9"
    assert refusal(take, b'{"a": "10"}') == "`a`: expected `int`, got `str`"


def test_the_return_type_is_what_is_annotated_or_unset() -> None:
    def without(a):  # type: ignore[no-untyped-def]  # the point
        return a

    def with_none() -> None: ...

    assert parameters(without).return_type is UNSET
    assert parameters(with_none).return_type is type(None)


# --- what models write by mistake


def test_json_in_a_string_is_read_where_the_type_can_be_no_string() -> None:
    def take(numbers: list[int], point: Point, count: int = 0, flag: bool = False) -> Any:  # noqa: FBT001, FBT002 - an argument of a tool
        return numbers, point, count, flag

    assert call(
        take,
        b'{"numbers": "[1, 2]", "point": "{\\"x\\": 3}", "count": "4", "flag": "true"}',
    ) == ([1, 2], Point(3), 4, True)


@pytest.mark.parametrize("value", [b'"[1, \\"a\\"]"', b'"[1"', b'"x"', b'""', b'"\\"[1]\\""'])
def test_json_in_a_string_that_does_not_fit_is_refused_as_the_string_it_is(value: bytes) -> None:
    def take(numbers: list[int]) -> Any:
        return numbers

    assert refusal(take, b'{"numbers": %b}' % value) == "`numbers`: expected `array`, got `str`"


def test_text_that_looks_like_json_stays_text_where_the_type_can_be_a_string() -> None:
    def take(a: str, b: str | list[int], c: Any = None, d: str | None = None) -> Any:
        return a, b, c, d

    assert call(take, b'{"a": "[1]", "b": "[1]", "c": "{}", "d": "null"}') == (
        "[1]", "[1]", "{}", "null",
    )  # fmt: skip


def test_a_number_in_the_place_of_text_is_refused() -> None:
    def take(a: str) -> str:
        return a

    assert refusal(take, b'{"a": 7}') == "`a`: expected `str`, got `int`"


def test_a_whole_number_may_be_written_as_a_float() -> None:
    def take(a: int, b: int | None = None) -> Any:
        return a, b

    value = call(take, b'{"a": 3.0, "b": 1e2}')
    assert value == (3, 100)
    assert all(type(number) is int for number in value)
    assert refusal(take, b'{"a": 3.5}') == "`a`: expected `int`, got `float`"


def test_an_integer_fits_a_float_and_a_truth_value_is_no_number() -> None:
    def take(a: float, b: int = 0) -> Any:
        return a, b

    assert call(take, b'{"a": 3}') == (3.0, 0)
    assert refusal(take, b'{"a": 1, "b": true}') == "`b`: expected `int`, got `bool`"


# --- what is wrong, in a sentence


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    def take(query: str, limit: int = 1) -> Any:
        return query, limit

    assert refusal(take, b'{"query": "x", "limits": 2}') == (
        "`limits` is not an argument; did you mean `limit`?"
    )
    assert refusal(take, b'{"query": "x", "zzz": 2}') == (
        "`zzz` is not an argument; there are `query`, `limit`"
    )


def test_everything_that_is_wrong_is_said_at_once() -> None:
    def take(a: int, b: int, c: list[int]) -> None: ...

    assert refusal(take, b'{"a": "x", "c": [1, "y"], "d": 1}') == (
        "`d` is not an argument; there are `a`, `b`, `c`; "
        "`a`: expected `int`, got `str`; "
        "`b` is missing; "
        "`c`: expected `int`, got `str` at `[1]`"
    )


@pytest.mark.parametrize("arguments", [b"[]", b'"x"', b"7", b"true"])
def test_arguments_that_are_no_object_are_invalid_params(arguments: bytes) -> None:
    def take(a: int = 1) -> int:
        return a

    with pytest.raises(RequestFailed, match="`arguments` must be an object") as caught:
        parameters(take).read(arguments)
    assert caught.value.code == INVALID_PARAMS


def test_arguments_that_are_no_json_are_a_parse_error() -> None:
    def take(a: str = "") -> str:
        return a

    with pytest.raises(RequestFailed, match="Parse error: in `arguments`") as caught:
        parameters(take).read(b'{"a": ')
    assert caught.value.code == PARSE_ERROR
    assert refusal(take, b'{"a": "\xff"}') == "`a`: invalid UTF-8 encoded string"


def test_nesting_without_end_is_refused_and_no_crash() -> None:
    def take(a: Any) -> Any:
        return a

    deep = b'{"a": %b%b}' % (b"[" * 100_000, b"]" * 100_000)
    with pytest.raises((ArgumentsRefused, RequestFailed)):
        parameters(take).read(deep)


def test_a_number_beyond_all_bounds_is_refused_and_no_crash() -> None:
    def take(a: float) -> float:
        return a

    assert refusal(take, b'{"a": 1e400}') == "`a`: number out of range"


# --- arguments that are text


def test_text_is_converted_to_what_the_parameters_are() -> None:
    def take(a: int, b: bool, c: float, d: str, e: Colour, f: int | None = None) -> Any:  # noqa: FBT001 - an argument of a prompt
        return a, b, c, d, e, f

    known = parameters(take)
    values = {"a": "7", "b": "true", "c": "1.5", "d": "8", "e": "red"}
    assert known.call(known.convert(values), None) == (7, True, 1.5, "8", Colour.RED, None)
    assert known.call(known.convert({**values, "f": "3"}), None)[5] == 3


def test_text_may_be_the_json_of_a_list_or_an_object() -> None:
    def take(numbers: list[int], point: Point | None = None) -> Any:
        return numbers, point

    known = parameters(take)
    found = known.convert({"numbers": "[1, 2]", "point": '{"x": 1}'})
    assert known.call(found, None) == ([1, 2], Point(1))


def test_text_may_stand_for_a_value_of_several_kinds() -> None:
    def take(value: Literal[True, 3, "x"]) -> Any:
        return value

    known = parameters(take)
    for text, value in (("true", True), ("3", 3), ("x", "x")):
        assert known.call(known.convert({"value": text}), None) == value


def test_text_that_does_not_fit_is_refused() -> None:
    def take(a: int, b: int = 1) -> None: ...

    for values, words in [
        ({"a": "x"}, "`a`: expected `int`, got `str`"),
        ({}, "`a` is missing"),
        ({"a": "1", "bb": "1"}, "`bb` is not an argument; did you mean `b`?"),
    ]:
        with pytest.raises(ArgumentsRefused) as caught:
            parameters(take).convert(values)
        assert str(caught.value) == words


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (bool, b'{"value": 1}'),
        (list[int], b'{"value": ["1"]}'),
        (dict[str, int], b'{"value": {"a": "1"}}'),
        (list[int | None], b'{"value": ["null"]}'),
        (datetime, b'{"value": 5}'),
        (list[int], b'{"value": [1.5]}'),
    ],
)
def test_nothing_is_made_to_fit_by_turning_it_into_something_else(
    kind: Any, arguments: bytes
) -> None:
    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = kind
    with pytest.raises(ArgumentsRefused, match="`value`"):
        parameters(take).read(arguments)


@pytest.mark.parametrize(
    ("kind", "arguments", "value"),
    [
        (int, b'{"value": 3.0}', 3),
        (list[int], b'{"value": [1.0, 2]}', [1, 2]),
        (list[int], b'{"value": "[1, 2]"}', [1, 2]),
        (dict[str, int], b'{"value": "{\\"a\\": 1}"}', {"a": 1}),
        (bool, b'{"value": "true"}', True),
    ],
)
def test_what_models_write_by_mistake_and_has_one_meaning_is_understood(
    kind: Any, arguments: bytes, value: Any
) -> None:
    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = kind
    read = parameters(take)
    assert read.call(read.read(arguments), None) == value


def test_text_that_looks_like_json_stays_text_where_text_may_be_meant() -> None:
    long = Annotated[str, msgspec.Meta(min_length=5)] | list[int]

    def take(value: Any) -> Any:
        return value

    take.__annotations__["value"] = long
    with pytest.raises(ArgumentsRefused, match="`value`"):
        parameters(take).read(b'{"value": "[1]"}')


def test_a_type_without_a_form_in_json_is_refused_in_a_line() -> None:
    class Socket:
        pass

    def take(value: Socket) -> None: ...

    with pytest.raises(TypeError, match=r"`value` of .*: Socket has no form in JSON") as caught:
        parameters(take)
    assert "\n" not in str(caught.value)


# --- the context, and what is injected


def test_a_generic_context_is_found_however_it_is_written() -> None:
    class State:
        pass

    class Held(Generic[T]):
        pass

    def plain(request: Held[State], a: int = 1) -> Any:
        return request

    def optional(request: Held[State] | None = None) -> Any:
        return request

    def old(request: Optional[Held[State]], a: int) -> Any:  # noqa: UP045 - the point
        return request

    def annotated(request: Annotated[Held[State], "the request"]) -> Any:
        return request

    for function in (plain, optional, old, annotated):
        assert Parameters(function, Held).context == "request"


def test_a_list_of_contexts_is_no_context() -> None:
    def take(a: int, contexts: list[Context]) -> None: ...

    with pytest.raises(TypeError, match="parameter `contexts`"):
        parameters(take)


def test_what_a_function_returns_is_no_argument_and_is_passed_by_name() -> None:
    def make() -> int:
        return 7

    def take(
        first: Annotated[int, Depends(make)],
        a: int,
        ctx: Context,
        *,
        last: Any = Depends(make),  # noqa: B008 - as users of FastAPI write it
    ) -> Any:
        return first, a, ctx, last

    known = parameters(take)
    assert {name: mark.function for name, mark in known.dependencies.items()} == {
        "first": make,
        "last": make,
    }
    assert list(known.schema["properties"]) == ["a"]
    assert not known.is_plain
    found = known.read(b'{"a": 1}')
    assert known.call(found, MARK, {"first": 8, "last": 9}) == (8, 1, MARK, 9)
    assert refusal(take, b'{"a": 1, "first": 2}') == "`first` is not an argument; there are `a`"


# --- exactly


def test_exact_arguments_are_taken_and_nothing_is_read_as_something_else() -> None:
    def take(a: int, b: list[int], c: float = 1.0, d: Point | None = None) -> Any:
        return a, b, c, d

    known = Parameters(take, Context, strict=True)
    found = known.read(b'{"a": 1, "b": [1], "c": 2, "d": {"x": 1}}')
    assert known.call(found, None) == (1, [1], 2.0, Point(1))
    for arguments, words in [
        (b'{"a": "1", "b": []}', "`a`: expected `int`, got `str`"),
        (b'{"a": 1.0, "b": []}', "`a`: expected `int`, got `float`"),
        (b'{"a": 1, "b": "[1]"}', "`b`: expected `array`, got `str`"),
        (b'{"a": 1, "b": [1.0]}', "`b`: expected `int`, got `float` at `[0]`"),
        (b'{"a": 1, "b": [], "x": 1}', "`x` is not an argument; there are `a`, `b`, `c`, `d`"),
    ]:
        with pytest.raises(ArgumentsRefused) as caught:
            known.read(arguments)
        assert str(caught.value) == words


def test_pydantic_is_as_exact_where_it_is_wanted() -> None:
    def take(item: Item, either: Item | int = 1) -> Any:
        return item, either

    lenient, strict = parameters(take), Parameters(take, Context, strict=True)
    arguments = b'{"item": {"price": "2"}, "either": {"price": "3"}}'
    assert lenient.call(lenient.read(arguments), None) == (Item(price=2), Item(price=3))
    with pytest.raises(ArgumentsRefused) as caught:
        strict.read(arguments)
    assert str(caught.value) == (
        "`item`: input should be a valid number at `.price`; "
        "`either`: input should be a valid number at `.price`; "
        "`either`: input should be a valid integer"
    )


def test_text_of_a_prompt_is_read_as_text_even_if_it_must_be_exact() -> None:
    def take(a: int, b: list[int]) -> Any:
        return a, b

    known = Parameters(take, Context, strict=True)
    assert known.call(known.convert({"a": "1", "b": "[1]"}), None) == (1, [1])


# --- functions of all kinds


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class Adder:
    def __call__(self, a: int, b: int = 1) -> int:
        """Add.

        Args:
            a: One.
            b: Two.
        """
        return a + b

    def method(self, a: int, b: int = 1) -> int:
        return a + b

    @classmethod
    def of_the_class(cls, a: int, b: int = 1) -> int:
        return a + b

    @staticmethod
    def static(a: int, b: int = 1) -> int:
        return a + b


@pytest.mark.parametrize(
    "function",
    [
        Adder(),
        Adder().method,
        Adder.of_the_class,
        Adder.static,
        partial(Adder()),
        partial(partial(Adder().method)),
        logged(Adder().method),
        logged(logged(Adder.static)),
        functools.lru_cache(Adder.static),
        partial(logged(Adder.static)),
    ],
)
def test_a_function_keeps_its_annotations_however_it_is_wrapped(function: Any) -> None:
    known = parameters(function)
    assert known.schema["properties"] == {
        "a": {"type": "integer", **({"description": "One."} if known.description else {})},
        "b": {
            "type": "integer",
            **({"description": "Two."} if known.description else {}),
            "default": 1,
        },
    }
    assert known.return_type is int
    assert known.call(known.read(b'{"a": 2}'), None) == 3


def test_a_class_is_a_function_that_returns_its_objects() -> None:
    known = parameters(Point)
    assert known.return_type is Point
    assert known.schema["properties"]["x"] == {"type": "integer"}
    assert known.call(known.read(b'{"x": 1}'), None) == Point(1)


def test_the_docstring_of_a_partial_is_that_of_its_function() -> None:
    assert parameters(partial(Adder(), b=3)).description == "Add."


def test_a_function_that_does_not_say_what_it_takes_is_refused() -> None:
    with pytest.raises(TypeError, match="max does not say what it takes: write a function around"):
        parameters(max)


def test_an_annotation_that_only_the_signature_has_counts() -> None:
    def take(*args: Any, **kwargs: Any) -> Any:
        return kwargs

    a = inspect.Parameter("a", inspect.Parameter.KEYWORD_ONLY, annotation=int)
    take.__signature__ = inspect.Signature([a])  # type: ignore[attr-defined]  # as decorators do
    assert property_of(take, "a") == {"type": "integer"}


# --- defaults, and what nobody can read


def test_what_makes_a_default_is_called_each_time() -> None:
    def take(a: list[int] = Field(default_factory=list)) -> list[int]:  # noqa: B008 - the point
        a.append(1)
        return a

    known = parameters(take)
    assert known.call(known.read(b"{}"), None) == [1]
    assert known.call(known.read(b"{}"), None) == [1]
    assert property_of(take, "a") == {"type": "array", "items": {"type": "integer"}, "default": []}


def test_defaults_are_described_as_json_has_them() -> None:
    def take(
        a: Path = Path("a/b"),
        b: Item = Item(price=1),  # noqa: B008 - the point
        c: Point = Point(1),  # noqa: B008 - the point
        d: float = float("nan"),
        e: Colour = Colour.RED,
        f: dict[int, str] = {1: "x"},  # noqa: B006 - the point
    ) -> None: ...

    properties = parameters(take).schema["properties"]
    assert {name: kind.get("default", MARK) for name, kind in properties.items()} == {
        "a": "a/b",
        "b": {"price": 1.0},
        "c": {"x": 1, "y": 0, "tags": []},
        "d": MARK,
        "e": "red",
        "f": {"1": "x"},
    }


def test_what_neither_msgspec_nor_pydantic_reads_is_refused_by_the_name_of_its_parameter() -> None:
    def complex_number(value: complex) -> None: ...
    def call_back(value: Callable[[int], int]) -> None: ...
    def struct_or_model(value: Box | Item) -> None: ...
    def alias(value: Annotated[int, Field(alias="n")]) -> None: ...
    def meta(value: Metas) -> None: ...

    cases: list[tuple[Callable[..., Any], str]] = [
        (complex_number, "complex has no form in JSON; take a dataclass, a model or plain types"),
        (call_back, "Callable has no form in JSON; take a dataclass, a model or plain types"),
        (struct_or_model, "only pydantic can keep a choice between models, but it says: .*Box"),
        (alias, "an argument cannot have an alias: name the parameter so"),
        (meta, r"only pydantic can keep AfterValidator.*, and it knows no msgspec\.Meta"),
    ]
    for function, words in cases:
        with pytest.raises(TypeError, match=f"parameter `value` of .*{function.__name__}: {words}"):
            parameters(function)


def test_a_class_that_contains_itself_may_have_members_that_only_pydantic_reads() -> None:
    def take(branch: Branch) -> Any:
        return branch

    assert call(take, b'{"branch": {"size": 1, "parts": [{"size": 2}]}}') == Branch(1, [Branch(2)])
    assert refusal(take, b'{"branch": {"size": 1, "parts": [{"size": 0}]}}') == (
        "`branch`: input should be greater than or equal to 1 at `.parts[0].size`"
    )
    assert property_of(take, "branch")["properties"]["parts"]["items"] == {"$ref": "#/$defs/Branch"}


def test_two_types_that_contain_themselves_and_have_one_name_stay_apart() -> None:
    def make(kind: Any) -> Any:
        class Same(msgspec.Struct):
            value: kind
            parts: list["Same"] = []

        Same.__annotations__["parts"] = list[Same]
        return Same

    class Same(BaseModel):
        value: float
        parts: list["Same"] = []

    def take(a: Any, b: Any, c: Any) -> None: ...

    take.__annotations__ |= {"a": make(int), "b": make(str), "c": Same}
    schema = parameters(take).schema
    assert {name: kind["properties"]["value"] for name, kind in schema["$defs"].items()} == {
        "Same": {"type": "integer"},
        "Same_2": {"type": "string"},
        "Same_3": {"type": "number"},
    }
    for name, definition in (("a", "Same"), ("b", "Same_2"), ("c", "Same_3")):
        assert schema["properties"][name]["properties"]["parts"]["items"] == {
            "$ref": f"#/$defs/{definition}"
        }


def test_the_values_that_are_allowed_are_named_at_any_depth() -> None:
    class Paint(msgspec.Struct):
        colours: list[Colour]

    def take(paint: Paint, other: Colour | None = None) -> None: ...

    assert refusal(take, b'{"paint": {"colours": ["green"]}, "other": "x"}') == (
        "`paint`: invalid enum value 'green' at `.colours[0]`; it must be one of 'red', 'blue'; "
        "`other`: invalid enum value 'x'; it must be one of 'red', 'blue'"
    )


@pytest.mark.parametrize("module", ["pydantic", "annotated_types", "attrs"])
def test_nothing_is_loaded_for_plain_annotations(module: str) -> None:
    code = (
        "import sys\n"
        "from wigwag import Server\n"
        "server = Server('s')\n"
        "@server.tool\n"
        "def take(a: int, b: list[str], c: dict[str, int] | None = None) -> list[str]:\n"
        "    return b\n"
        f"raise SystemExit({module!r} in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
