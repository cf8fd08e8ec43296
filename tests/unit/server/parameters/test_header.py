"""Arguments that a header repeats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from wigwag import Server
from wigwag.bindings.mirrored_parameters import mirrored_parameters
from wigwag.server.context import Context
from wigwag.server.parameters.header import Header
from wigwag.server.parameters.signature import Parameters


@dataclass
class Place:
    region: Annotated[str, Header("Region")]


def mirrored(function: Any) -> dict[str, tuple[str, ...]]:
    schema = Parameters(function, Context).schema
    return {parameter.header: parameter.path for parameter in mirrored_parameters(schema)}


def test_an_argument_says_in_its_schema_which_header_repeats_it() -> None:
    def price(
        region: Annotated[str, Header("Region"), "Where."] = "eu", count: int = 1
    ) -> None: ...

    assert Parameters(price, Context).schema["properties"] == {
        "region": {
            "type": "string",
            "description": "Where.",
            "x-mcp-header": "Region",
            "default": "eu",
        },
        "count": {"type": "integer", "default": 1},
    }
    assert mirrored(price) == {"Mcp-Param-Region": ("region",)}


def test_a_member_of_an_argument_can_be_repeated_too() -> None:
    def price(place: Place, number: Annotated[int, Header("Number")]) -> None: ...

    assert mirrored(price) == {
        "Mcp-Param-Region": ("place", "region"),
        "Mcp-Param-Number": ("number",),
    }


def test_pydantic_says_it_as_well() -> None:
    def price(region: Annotated[str, AfterValidator(str.lower), Header("Region")]) -> None: ...

    assert mirrored(price) == {"Mcp-Param-Region": ("region",)}


def test_what_no_header_can_repeat_is_refused_at_registration() -> None:
    server = Server("s")

    def of_a_list(regions: Annotated[list[str], Header("Region")]) -> None: ...
    def optional(region: Annotated[str | None, Header("Region")]) -> None: ...
    def misnamed(region: Annotated[str, Header("Re gion")]) -> None: ...
    def twice(a: Annotated[str, Header("A")], b: Annotated[str, Header("a")]) -> None: ...

    cases: list[tuple[Callable[..., Any], str]] = [
        (of_a_list, "x-mcp-header of 'regions': the property's type must be string, integer or"),
        (optional, "x-mcp-header of 'region': the property's type must be string, integer or"),
        (misnamed, "x-mcp-header of 'region': 'Re gion' cannot be part of a header's name"),
        (twice, "x-mcp-header of 'b': Mcp-Param-a is taken by the property 'a'"),
    ]
    for function, words in cases:
        with pytest.raises(ValueError, match=words):
            server.tool(function)
