"""Functions whose arguments a hand-written schema describes."""

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from msgspec import UNSET, Raw

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.server.context import Context
from wigwag.server.parameters.dependencies import Depends
from wigwag.server.parameters.signature import ArgumentsRefused
from wigwag.server.parameters.written_schema import WrittenParameters

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
    "required": ["a"],
}
CONTEXT: Any = object()


def parameters(function: Callable[..., Any], schema: dict[str, Any] = SCHEMA) -> WrittenParameters:
    return WrittenParameters(function, schema, Context)


def called(function: Callable[..., Any], arguments: bytes) -> Any:
    known = parameters(function)
    return known.call(known.read(Raw(arguments)), CONTEXT)


def test_the_schema_is_published_as_it_was_written() -> None:
    assert parameters(lambda a, b: None).schema is SCHEMA


def test_parameters_get_the_properties_of_their_names() -> None:
    def function(b: str = "none", *, a: int) -> Any:
        return a, b

    assert called(function, b'{"a": 1, "b": "x"}') == (1, "x")
    assert called(function, b'{"a": 1}') == (1, "none")


def test_the_rest_may_be_taken_together() -> None:
    def function(a: int, **rest: Any) -> Any:
        return a, rest

    assert called(function, b'{"a": 1, "b": "x", "c": null}') == (1, {"b": "x", "c": None})


def test_a_single_parameter_that_is_no_property_takes_everything() -> None:
    def function(arguments: dict[str, Any]) -> Any:
        return arguments

    assert called(function, b'{"a": 1, "c": [2]}') == {"a": 1, "c": [2]}


def test_the_context_is_no_argument() -> None:
    def by_name(ctx: Context, a: int) -> Any:
        return ctx, a

    def together(arguments: dict[str, Any], ctx: Context) -> Any:
        return ctx, arguments

    assert called(by_name, b'{"a": 1}') == (CONTEXT, 1)
    assert called(together, b'{"a": 1}') == (CONTEXT, {"a": 1})
    assert parameters(by_name).context == "ctx"


def test_an_argument_cannot_stand_in_for_the_context() -> None:
    def function(ctx: Context, **rest: Any) -> None: ...

    with pytest.raises(ArgumentsRefused, match=r"^`ctx` is not an argument$"):
        parameters(function).read(b'{"a": 1, "ctx": 2}')


def test_absent_arguments_and_null_are_an_empty_object() -> None:
    known = parameters(lambda **rest: rest, {"type": "object"})
    assert known.read(UNSET) == {}
    assert known.read(b"null") == {}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (b"{}", '"a" is a required property'),
        (b'{"a": "1"}', '`a`: "1" is not of type "integer"'),
        (b'{"a": 1, "c": 2}', "`c` is not an argument"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: bytes, problem: str) -> None:
    with pytest.raises(ArgumentsRefused, match=f"^{problem}$"):
        parameters(lambda a, b="": None).read(arguments)


def test_what_the_schema_lets_out_and_the_function_needs_is_missing() -> None:
    with pytest.raises(ArgumentsRefused, match=r"^`b` is missing$"):
        parameters(lambda a, b: None).read(b'{"a": 1}')


def test_arguments_that_are_no_object_are_invalid_params() -> None:
    with pytest.raises(RequestFailed, match="`arguments` must be an object") as caught:
        parameters(lambda a: None).read(b"[1]")
    assert caught.value.code == INVALID_PARAMS


def test_arguments_that_are_no_json_are_a_parse_error() -> None:
    with pytest.raises(RequestFailed, match=r"^Parse error: in `arguments`") as caught:
        parameters(lambda a: None).read(b'{"a": 1e999999}' + b"}")
    assert caught.value.code == PARSE_ERROR


def test_a_parameter_that_is_no_property_is_named() -> None:
    def misspelt(a: int, bee: str) -> None: ...

    def with_rest(bee: str, **rest: Any) -> None: ...

    def optional(bee: str = "") -> None: ...

    for function in (misspelt, with_rest, optional):
        with pytest.raises(TypeError, match=r"^parameter `bee` of .* there are `a`, `b`$"):
            parameters(function)


def test_a_parameter_without_a_name_cannot_be_an_argument() -> None:
    def star(*a: int) -> None: ...

    def slash(a: int, /) -> None: ...

    for function in (star, slash):
        with pytest.raises(TypeError, match=r"^`a` of .* cannot be an argument"):
            parameters(function)


def test_a_context_without_its_type_is_pointed_out() -> None:
    with pytest.raises(TypeError, match=r"^`ctx` of .* needs its type: `ctx: Context`$"):
        parameters(lambda ctx: None)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "string"}, 'must have "type": "object"'),
        ({"properties": {}}, 'must have "type": "object"'),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "is none: "),
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parameters(lambda **rest: None, schema)


def test_the_docstring_is_the_description() -> None:
    def function(a: int) -> None:
        """Counts."""

    assert parameters(function).description == "Counts."


def test_what_is_injected_is_no_argument_even_where_the_rest_is_taken() -> None:
    def function(shop: Annotated[str, Depends(str)], a: int, **rest: Any) -> Any:
        return shop, a, rest

    known = parameters(function)
    assert list(known.dependencies) == ["shop"]
    found = known.read(Raw(b'{"a": 1, "c": 2}'))
    assert known.call(found, CONTEXT, {"shop": "kites"}) == ("kites", 1, {"c": 2})
    with pytest.raises(ArgumentsRefused, match="`shop` is not an argument"):
        known.read(Raw(b'{"a": 1, "shop": "x"}'))
