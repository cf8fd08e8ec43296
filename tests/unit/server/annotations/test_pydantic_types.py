"""What only pydantic reads."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import annotated_types as at
import msgspec
import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, HttpUrl, SecretStr

from wigwag.server.annotations.hooked import Faults
from wigwag.server.annotations.plain_schema import decode_hook, encode_hook, schema_of
from wigwag.server.annotations.pydantic_types import adapt, read_model
from wigwag.server.results.tool_results import ToolOutput


class Item(BaseModel):
    price: float
    parts: list["Item"] = []


class Renamed(BaseModel):
    the_name: str = Field(alias="name")


class Movie(TypedDict):
    year: Annotated[int, AfterValidator(abs)]


@dataclass
class Site:
    url: HttpUrl
    secret: SecretStr = SecretStr("s")  # noqa: RUF009 - the point


def read(annotation: Any, value: Any, *, strict: bool = False) -> Any:
    return adapt(annotation, "it", strict=strict).read(value, decode_hook)


def test_what_is_exact_is_read_first_and_then_what_a_model_takes_for_it() -> None:
    assert read(Item | int, {"price": 1}) == Item(price=1)
    assert read(Item | int, {"price": "1"}) == Item(price=1)
    with pytest.raises(Faults, match="valid number"):
        read(Item | int, {"price": "1"}, strict=True)
    assert read_model(Item, {"price": "1"}) == Item(price=1)
    with pytest.raises(Faults, match=r"valid number at `.price`"):
        read_model(Item, {"price": "1"}, strict=True)


def test_a_function_that_is_asked_first_may_make_anything_of_it() -> None:
    pair = Annotated[tuple[int, int], BeforeValidator(lambda text: text.split("x"))]
    assert read(pair, "3x4") == (3, 4)


def test_a_function_that_is_asked_afterwards_changes_nothing_about_what_is_taken() -> None:
    with pytest.raises(Faults, match="valid boolean"):
        read(Annotated[bool, AfterValidator(bool)], "yes")


def test_faults_have_places_in_what_was_sent_and_no_names_of_branches() -> None:
    with pytest.raises(Faults) as caught:
        read(dict[str, Item | list[int]], {"a b": {"price": 1, "parts": [{"price": "x"}]}})
    assert caught.value.faults == [
        (
            ".a b.parts[0].price",
            "input should be a valid number, unable to parse string as a number",
        ),
        (".a b", "input should be a valid array"),
    ]
    with pytest.raises(Faults, match="object missing required field `name`"):
        read(Renamed | int, {"the_name": "x"})


def test_what_a_validator_raises_is_said_as_it_is() -> None:
    def check(number: int) -> int:
        if number < 3:
            raise ValueError("Too small,\nby far")
        return number

    with pytest.raises(Faults) as caught:
        read(Annotated[int, AfterValidator(check)], 1)
    assert caught.value.faults == [("", "too small, by far")]


def test_text_and_constraints_of_msgspec_are_kept() -> None:
    kind = Annotated[
        list[Annotated[int, msgspec.Meta(ge=1)]],
        "Many.",
        msgspec.Meta(max_length=2, extra_json_schema={"unit": "m"}),
        AfterValidator(list),
    ]
    assert schema_of(adapt(kind, "it", strict=False)) == {
        "type": "array",
        "items": {"type": "integer", "minimum": 1},
        "maxItems": 2,
        "description": "Many.",
        "unit": "m",
    }


def test_a_typed_dict_is_read_in_every_python() -> None:
    assert read(Movie, {"year": -3}) == {"year": 3}
    assert read(list[Movie], [{"year": -3}]) == [{"year": 3}]


def test_what_pydantic_cannot_read_is_a_type_error_with_its_reason() -> None:
    class Box(msgspec.Struct):
        x: int

    with pytest.raises(TypeError, match=r"only pydantic can keep this, but it says: .*Box.*models"):
        adapt(Box | Item, "this", strict=False)


def test_without_pydantic_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(TypeError, match="only pydantic can keep Len, and it is not installed"):
        adapt(Annotated[Movie, at.Len(1)], "Len", strict=False)


def test_types_of_pydantic_are_written_as_it_writes_them() -> None:
    assert encode_hook(HttpUrl("http://a.example/")) == "http://a.example/"
    assert encode_hook(SecretStr("s")) == "**********"
    assert encode_hook(Renamed(name="x")) == {"name": "x"}


def test_they_may_be_in_what_a_tool_returns() -> None:
    output = ToolOutput(Site)
    assert output.schema == {
        "type": "object",
        "properties": {
            "url": {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083},
            "secret": {"type": "string", "format": "password", "default": "**********"},
        },
        "required": ["url"],
    }
    result: Any = output.to_result(Site(HttpUrl("http://a.example/")))
    assert msgspec.json.decode(bytes(result.structured_content)) == {
        "url": "http://a.example/",
        "secret": "**********",
    }
