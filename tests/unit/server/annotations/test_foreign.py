"""What is of pydantic."""

import msgspec
import pydantic
from pydantic import AfterValidator, BaseModel, EmailStr

from wigwag.server.annotations.foreign import is_model, is_of_pydantic


class Item(BaseModel):
    pass


@pydantic.dataclasses.dataclass
class Place:
    x: int


class Own:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> object: ...


def test_only_classes_of_models_are_models() -> None:
    assert is_model(Item)
    assert not is_model(Item())
    assert not is_model(Place)
    assert not is_model(int)
    assert not is_model(list[Item])


def test_types_and_marks_of_pydantic_are_known_by_what_they_are_made_of() -> None:
    for thing in (EmailStr, AfterValidator(abs), Item, Place, Own):
        assert is_of_pydantic(thing)
    for other in (int, "text", msgspec.Meta(ge=1)):
        assert not is_of_pydantic(other)
