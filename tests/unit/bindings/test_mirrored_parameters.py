from time import process_time
from typing import Any

import pytest

from wigwag.bindings.mirrored_parameters import MirroredParameter, mirrored_parameters


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def annotated(name: Any, type_: Any = "string", **more: Any) -> dict[str, Any]:
    return {"type": type_, "x-mcp-header": name, **more}


REGION = MirroredParameter("Mcp-Param-Region", b"mcp-param-region", ("region",), "string")


# --- what is repeated


def test_a_property_that_asks_for_it_is_repeated() -> None:
    schema = schema_of(region=annotated("Region"), query={"type": "string"})
    assert mirrored_parameters(schema) == (REGION,)


@pytest.mark.parametrize("type_", ["string", "integer", "boolean"])
def test_the_type_is_told(type_: str) -> None:
    [parameter] = mirrored_parameters(schema_of(a=annotated("A", type_)))
    assert parameter.type == type_


def test_properties_of_properties_are_repeated_at_any_depth() -> None:
    schema = schema_of(
        a={"type": "object", "properties": {"b": annotated("B", "integer")}}, c=annotated("C")
    )
    assert [(p.header, p.path) for p in mirrored_parameters(schema)] == [
        ("Mcp-Param-C", ("c",)),
        ("Mcp-Param-B", ("a", "b")),
    ]


@pytest.mark.parametrize("name", ["Method", "a.b_c~1!", "0", "!#$%&'*+-.^_`|~"])
def test_a_name_may_be_any_token(name: str) -> None:
    [parameter] = mirrored_parameters(schema_of(x=annotated(name)))
    assert parameter.header == f"Mcp-Param-{name}"
    assert parameter.key == b"mcp-param-" + name.lower().encode()


def test_what_else_the_property_says_does_not_matter() -> None:
    schema = schema_of(x=annotated("X", anyOf=[{"minLength": 1}], default="x", enum=["x"]))
    assert [p.header for p in mirrored_parameters(schema)] == ["Mcp-Param-X"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": None},
        {"properties": {"x": True}},
        {"$defs": []},
        schema_of(x={"type": "string"}),
    ],
)
def test_without_annotations_nothing_is_repeated(schema: dict[str, Any]) -> None:
    assert mirrored_parameters(schema) == ()


def test_properties_may_have_the_names_of_keywords() -> None:
    schema = schema_of(
        **{
            "x-mcp-header": {"type": "string"},
            "items": annotated("Items"),
            "anyOf": {"type": "object", "properties": {"properties": annotated("P")}},
        }
    )
    assert [(p.header, p.path) for p in mirrored_parameters(schema)] == [
        ("Mcp-Param-Items", ("items",)),
        ("Mcp-Param-P", ("anyOf", "properties")),
    ]


@pytest.mark.parametrize("keyword", ["default", "examples", "enum", "const", "x-other"])
def test_data_in_a_schema_is_no_schema(keyword: str) -> None:
    data = {"x-mcp-header": "", "properties": {"x": annotated("no token")}}
    assert mirrored_parameters(schema_of(x={keyword: data})) == ()
    assert mirrored_parameters(schema_of(x={keyword: [data]})) == ()


def test_different_tools_may_use_the_same_name() -> None:
    assert mirrored_parameters(schema_of(region=annotated("Region"))) == (REGION,)
    assert mirrored_parameters(schema_of(region=annotated("Region"))) == (REGION,)


# --- what is invalid


@pytest.mark.parametrize(
    "name",
    [
        "", "My Region", "Region:Primary", "Région", "Region\t1", "Reg\r\nX", "Region\n",
        "A(b)", "a/b", "a@b", "a,b", 5, None, True, ["R"], {"a": 1},
    ],
)  # fmt: skip
def test_a_name_that_is_no_token_is_invalid(name: Any) -> None:
    with pytest.raises(ValueError, match=r"^x-mcp-header of 'x': .* cannot be part of a header"):
        mirrored_parameters(schema_of(x=annotated(name)))


@pytest.mark.parametrize(
    "type_", ["object", "array", "null", "number", ["string", "null"], ["string"], None, {}]
)
def test_only_three_types_can_be_repeated(type_: Any) -> None:
    with pytest.raises(ValueError, match=r"^x-mcp-header of 'x': the property's type must be"):
        mirrored_parameters(schema_of(x=annotated("X", type_)))


@pytest.mark.parametrize("more", [{}, {"enum": ["a", "b"]}, {"const": "a"}])
def test_a_property_without_a_type_cannot_be_repeated(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="type must be string, integer or boolean, not None"):
        mirrored_parameters(schema_of(x={"x-mcp-header": "X", **more}))


@pytest.mark.parametrize(("one", "other"), [("Region", "Region"), ("MyField", "myfield")])
def test_two_properties_cannot_share_a_header(one: str, other: str) -> None:
    schema = schema_of(a=annotated(one), b={"properties": {"c": annotated(other)}})
    with pytest.raises(ValueError, match=rf"of 'b\.c': Mcp-Param-{other} is taken .* 'a'"):
        mirrored_parameters(schema)


@pytest.mark.parametrize(
    "keyword",
    [
        "items", "contains", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
        "propertyNames", "additionalItems", "contentSchema", "not", "if", "then", "else",
    ],
)  # fmt: skip
def test_under_a_keyword_with_a_schema_nothing_can_be_repeated(keyword: str) -> None:
    schema = schema_of(list={keyword: {"properties": {"x": annotated("X")}}})
    with pytest.raises(ValueError, match=rf"'list\.{keyword}\.x': it is under '{keyword}'"):
        mirrored_parameters(schema)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf", "prefixItems", "items"])
def test_under_a_keyword_with_several_schemas_nothing_can_be_repeated(keyword: str) -> None:
    schema = {keyword: [True, {"properties": {"x": annotated("X")}}]}
    with pytest.raises(ValueError, match=rf"'{keyword}\.x': it is under '{keyword}'"):
        mirrored_parameters(schema)


@pytest.mark.parametrize(
    "keyword", ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"]
)
def test_under_a_keyword_with_named_schemas_nothing_can_be_repeated(keyword: str) -> None:
    schema = {
        **schema_of(a={"type": "string"}),
        keyword: {"b": {"properties": {"x": annotated("X")}}},
    }
    with pytest.raises(ValueError, match=r"'b\.x': it is under "):
        mirrored_parameters(schema)
    with pytest.raises(ValueError, match=r"'b': it is under "):
        mirrored_parameters({keyword: {"b": annotated("X")}})


def test_the_schema_itself_cannot_be_repeated() -> None:
    with pytest.raises(ValueError, match=r"^x-mcp-header of the whole schema: only properties"):
        mirrored_parameters({"type": "string", "x-mcp-header": "X"})


def test_one_invalid_annotation_spoils_the_tool() -> None:
    schema = schema_of(region=annotated("Region"), list={"items": annotated("X")})
    with pytest.raises(ValueError, match="under 'items'"):
        mirrored_parameters(schema)


# --- hostile schemas


def nested(depth: int, innermost: dict[str, Any], keyword: str = "properties") -> dict[str, Any]:
    schema = innermost
    for _ in range(depth):
        schema = {keyword: {"p": schema} if keyword == "properties" else schema}
    return schema


def test_a_hundred_properties_deep_is_the_limit() -> None:
    [parameter] = mirrored_parameters(nested(100, annotated("X")))
    assert parameter.path == ("p",) * 100
    with pytest.raises(ValueError, match="it is more than 100 properties deep"):
        mirrored_parameters(nested(101, annotated("X")))


@pytest.mark.parametrize("keyword", ["properties", "items", "not"])
def test_depth_does_not_exhaust_the_stack(keyword: str) -> None:
    assert mirrored_parameters(nested(20_000, {}, keyword)) == ()


def test_a_message_about_a_deep_property_is_short() -> None:
    with pytest.raises(ValueError, match="x-mcp-header of ") as caught:
        mirrored_parameters(nested(20_000, annotated("X" * 10_000)))
    assert len(str(caught.value)) < 500
    with pytest.raises(ValueError, match="cannot be part") as caught:
        mirrored_parameters(schema_of(x=annotated(" " * 10_000)))
    assert len(str(caught.value)) < 500


def test_time_is_linear_in_the_size_of_the_schema() -> None:
    def seconds(size: int) -> float:
        schema = schema_of(**{f"p{n}": annotated(f"H{n}") for n in range(size)})
        schema["items"] = nested(size, {}, "items")
        best = float("inf")
        for _ in range(3):
            start = process_time()
            assert len(mirrored_parameters(schema)) == size
            best = min(best, process_time() - start)
        return best

    # Linear time is 20 times as much, quadratic 400 times.
    assert seconds(20_000) < 120 * seconds(1_000)


# --- the argument itself


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"a": {"b": 3}}, 3),
        ({"a": {"b": False}}, False),
        ({"a": {"b": None}}, None),
        ({"a": {}}, None),
        ({"a": 5}, None),
        ({"a": "b"}, None),
        ({"a": [{"b": 3}]}, None),
        ({"b": 3}, None),
        ({}, None),
    ],
)
def test_an_argument_is_found_by_its_path(arguments: dict[str, Any], value: Any) -> None:
    [parameter] = mirrored_parameters(schema_of(a={"properties": {"b": annotated("B")}}))
    assert parameter.value_in(arguments) is value
