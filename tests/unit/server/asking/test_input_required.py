import pytest

from wigwag import InputRequired, list_roots
from wigwag.server.asking.input_required import Unwinding


def test_it_needs_something() -> None:
    with pytest.raises(ValueError, match="questions, a state, or both"):
        InputRequired()
    assert InputRequired(state=0).questions == {}
    assert list(InputRequired({"r": list_roots()}).questions) == ["r"]


def test_unwinding_is_not_caught_by_accident() -> None:
    assert not issubclass(Unwinding, Exception)
