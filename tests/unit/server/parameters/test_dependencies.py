from typing import Annotated, Any

import pytest

from wigwag.server.parameters.dependencies import Dependency, Depends, Resolve, mark_of, name_of


def kettle() -> int:
    return 1


@pytest.mark.parametrize("thing", [None, 3, "kettle"])
def test_only_what_can_be_called_can_be_depended_on(thing: Any) -> None:
    with pytest.raises(TypeError, match="takes a function, not"):
        Depends(thing)


def test_what_could_not_be_known_again_cannot_be_depended_on() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self) -> None: ...

    with pytest.raises(TypeError, match="has no hash"):
        Depends(Odd())


def test_a_mark_names_its_function() -> None:
    assert repr(Depends(kettle)) == "Depends(kettle)"
    assert isinstance(Resolve(kettle), Dependency)


def test_a_mark_is_found_in_the_annotation_or_is_the_default() -> None:
    mark = Depends(kettle)
    assert mark_of(Annotated[int, "hot", mark], None) is mark
    assert mark_of(int, mark) is mark
    assert mark_of(Annotated[int, "hot"], 3) is None
    assert mark_of(list[Annotated[int, mark]], None) is None


def test_what_has_no_name_is_shown_as_it_is() -> None:
    class Teapot:
        def __call__(self) -> None: ...

        def __repr__(self) -> str:
            return "a teapot"

    assert name_of(Teapot()) == "a teapot"
    assert name_of(kettle) == "kettle"
