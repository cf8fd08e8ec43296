from typing import Any

import pytest

from wigwag import Principal


@pytest.mark.parametrize("given", [["read", "read"], ("read",), {"read"}, {"read": 1}.keys()])
def test_scopes_and_roles_are_sets_however_they_are_written(given: Any) -> None:
    principal = Principal("ada", scopes=given, roles=given)
    assert principal == Principal("ada", scopes=frozenset({"read"}), roles=frozenset({"read"}))
    assert hash(principal.scopes) == hash(principal.roles)


@pytest.mark.parametrize("given", ["read", None, 5])
@pytest.mark.parametrize("name", ["scopes", "roles"])
def test_what_is_no_set_of_texts_is_refused_where_it_is_written(name: str, given: Any) -> None:
    with pytest.raises(TypeError, match=f"`{name}` are a set of texts"):
        Principal("ada", **{name: given})


def test_a_subject_that_is_no_text_is_refused() -> None:
    subject: Any = 5
    with pytest.raises(TypeError, match="`subject` is text, not 5"):
        Principal(subject)
