"""Annotations as users of pydantic write them."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec
import pytest
from annotated_types import Ge, MaxLen
from pydantic import AfterValidator, BaseModel, EmailStr, Field
from typing_extensions import Doc, TypeAliasType

from wigwag.server.annotations.plain_schema import schema_of
from wigwag.server.annotations.translation import is_model, translate, translate_metadata
from wigwag.server.context import Context
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters
from wigwag.server.results.tool_results import ToolOutput

T = TypeVar("T")


class Item(BaseModel):
    price: float = Field(ge=0, description="In euro.")
    parts: list["Item"] = []


def read(function: Any, arguments: bytes) -> Any:
    parameters = Parameters(function, Context)
    return parameters.call(parameters.read(arguments), None)


def test_a_field_keeps_its_constraints_and_its_description() -> None:
    kind = translate(Annotated[int, Field(ge=1, le=9, description="How many.")])
    assert schema_of(kind) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "description": "How many.",
    }


def test_plain_constraints_and_text_are_understood() -> None:
    assert schema_of(translate(Annotated[int, Ge(3)])) == {"type": "integer", "minimum": 3}
    kind = translate(Annotated[str, MaxLen(4), "A word."])
    assert schema_of(kind) == {"type": "string", "maxLength": 4, "description": "A word."}


def test_what_msgspec_understands_itself_is_left_alone() -> None:
    kind = Annotated[int, msgspec.Meta(ge=2)]
    assert schema_of(translate(kind)) == {"type": "integer", "minimum": 2}
    assert translate(int) is int


def test_a_field_in_the_place_of_a_default_counts_in_a_dataclass_too() -> None:
    @dataclass
    class Box:
        width: int = Field(3, ge=1)
        tags: list[str] = Field(default_factory=list)  # noqa: RUF009 - the point

    def send(boxes: list[Box]) -> list[Box]:
        return boxes

    assert read(send, b'{"boxes": [{}, {"width": 4}]}') == [Box(3, []), Box(4, [])]
    with pytest.raises(ArgumentsRefused, match=r"greater than or equal to 1 at `\[0\].width`"):
        read(send, b'{"boxes": [{"width": 0}]}')
    assert Parameters(send, Context).schema["properties"]["boxes"]["items"]["properties"] == {
        "width": {"type": "integer", "minimum": 1, "default": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
    }


def test_a_constraint_without_a_counterpart_is_kept_by_pydantic_and_not_dropped() -> None:
    from annotated_types import Predicate  # noqa: PLC0415 - here alone

    def even(number: Annotated[int, Predicate(lambda n: n % 2 == 0)]) -> int:
        return number

    assert read(even, b'{"number": 2}') == 2
    with pytest.raises(ArgumentsRefused, match=r"`number`: predicate .*failed"):
        read(even, b'{"number": 3}')


def test_a_field_as_default_bounds_the_argument_and_fills_it_in() -> None:
    def take(count: int = Field(3, le=9)) -> int:
        return count

    assert read(take, b"{}") == 3
    assert read(take, b'{"count": 9}') == 9
    with pytest.raises(ArgumentsRefused, match="`count`: expected `int` <= 9"):
        read(take, b'{"count": 10}')


def test_a_field_without_a_default_makes_the_argument_required() -> None:
    def take(count: int = Field(le=9)) -> int:
        return count

    assert Parameters(take, Context).schema["required"] == ["count"]


def test_a_model_is_read_and_its_faults_are_one_line() -> None:
    def take(item: Item) -> Item:
        return item

    assert read(take, b'{"item": {"price": 2, "parts": [{"price": 1}]}}').parts[0].price == 1
    with pytest.raises(ArgumentsRefused) as caught:
        read(take, b'{"item": {"price": -1}}')
    assert str(caught.value) == ("`item`: input should be greater than or equal to 0 at `.price`")


def test_a_model_describes_itself_without_titles_and_with_its_recursion() -> None:
    schema = schema_of(Item)
    assert schema["properties"]["price"] == {
        "type": "number",
        "minimum": 0,
        "description": "In euro.",
    }
    assert schema["properties"]["parts"]["items"] == {"$ref": "#/$defs/Item"}
    assert "title" not in str(schema)


def test_a_model_is_structured_output() -> None:
    output = ToolOutput(Item)
    assert output.schema is not None
    result: Any = output.to_result(Item(price=1))
    assert bytes(result.structured_content) == b'{"price":1.0,"parts":[]}'


def test_a_literal_lists_its_values_as_they_were_written_and_names_them_in_errors() -> None:
    def sort(order: Literal["title", "author", "a"] = "title") -> str:
        return order

    schema = Parameters(sort, Context).schema["properties"]["order"]
    assert schema == {"type": "string", "enum": ["title", "author", "a"], "default": "title"}
    with pytest.raises(ArgumentsRefused, match="one of 'title', 'author', 'a'"):
        read(sort, b'{"order": "z"}')


def test_pydantic_is_not_loaded_for_those_who_do_not_use_it() -> None:
    code = (
        "import sys\n"
        "from wigwag import Server\n"
        "server = Server('s')\n"
        "server.tool('t')(lambda: 'x')\n"
        "raise SystemExit('pydantic' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert not is_model(int)


@pytest.mark.parametrize(
    "kind",
    [
        list[Annotated[int, Field(ge=1)]],
        dict[str, Annotated[int, Field(ge=1)]],
        tuple[Annotated[int, Field(ge=1)], ...],
        Annotated[int, Field(ge=1)] | None,
        Annotated[int | None, Field(ge=1)],
    ],
)
def test_a_constraint_holds_at_every_depth(kind: Any) -> None:
    assert '"minimum": 1' in json.dumps(schema_of(translate(kind)))


def test_the_constraints_of_a_result_are_described() -> None:
    output = ToolOutput(Annotated[int, Field(ge=3)])
    assert output.schema == {"type": "integer", "minimum": 3}


def test_an_alias_is_refused() -> None:
    with pytest.raises(TypeError, match="alias"):
        translate(Annotated[int, Field(alias="n")])


# --- aliases, in the way of Python before 3.12


Ids = TypeAliasType("Ids", list[int])
ByName = TypeAliasType("ByName", dict[str, T], type_params=(T,))
Odd = TypeAliasType("Odd", Literal[True, "x"])


def test_an_alias_is_what_it_stands_for() -> None:
    assert schema_of(translate(Ids)) == {"type": "array", "items": {"type": "integer"}}
    assert schema_of(translate(list[Odd])) == {"type": "array", "items": {"enum": [True, "x"]}}
    assert schema_of(translate(ByName[int])) == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


# --- what is said of an annotation


def test_documentation_and_examples_are_kept() -> None:
    assert schema_of(translate(Annotated[int, Doc("Many.")])) == {
        "type": "integer",
        "description": "Many.",
    }
    kind = Annotated[int, Field(examples=[1], json_schema_extra={"unit": "m"}, title="T")]
    assert schema_of(translate(kind)) == {"type": "integer", "examples": [1], "unit": "m"}


def test_a_compiled_pattern_is_a_pattern() -> None:
    assert schema_of(translate(Annotated[str, Field(pattern=re.compile("^a"))])) == {
        "type": "string",
        "pattern": "^a",
    }


def test_a_function_that_changes_the_schema_is_asked() -> None:
    def change(schema: dict[str, Any]) -> None:
        schema["unit"] = "m"

    kind = translate(Annotated[int, Field(json_schema_extra=change)])
    assert schema_of(kind) == {"type": "integer", "unit": "m"}


def test_a_default_in_an_annotation_is_one() -> None:
    def take(
        a: Annotated[int, Field(default=3)],
        b: Annotated[list[int], Field(default_factory=list)],
        c: Annotated[int, Field(ge=1)],
    ) -> Any:
        return a, b, c

    assert Parameters(take, Context).schema["required"] == ["c"]
    assert read(take, b'{"c": 1}') == (3, [], 1)


def test_metadata_alone_is_translated_where_types_must_stay_what_they_are() -> None:
    @dataclass
    class Place:
        x: Annotated[int, Field(ge=1)]

    kind = translate_metadata(Annotated[Place, Field(description="D.")])
    assert get_args(kind) == (Place, msgspec.Meta(description="D."))
    assert translate_metadata(Place | str) == Place | str
    assert translate_metadata(Literal[True]) == Literal[True]
    assert translate_metadata(EmailStr) is EmailStr
    with pytest.raises(TypeError, match=r"AfterValidator.* is a constraint that cannot be kept"):
        translate_metadata(Annotated[int, AfterValidator(abs)])


def test_types_that_are_not_read_for_other_reasons_are_no_choice() -> None:
    def take(value: Annotated[int, msgspec.Meta(pattern="x")] | str) -> None: ...

    with pytest.raises(TypeError, match=r"parameter `value` of .*pattern"):
        Parameters(take, Context)
