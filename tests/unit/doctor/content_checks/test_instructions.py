import pytest

from wigwag.doctor.content_checks.instructions import check_introduction
from wigwag.schema import Implementation

LIBRARY = Implementation(name="library", version="1.0.0")
NAMES = {"find_books", "lend_book"}


@pytest.mark.parametrize("info", [None, Implementation(name=" ", version="1")])
def test_a_server_without_a_name_is_noted(info: Implementation | None) -> None:
    [finding] = check_introduction(info, None, NAMES, ())
    assert (finding.code, finding.severity) == ("server-unnamed", "note")


@pytest.mark.parametrize(
    "text",
    [
        "Call `find_books` and then `lend_book()`.",
        "Use `json` and `find all the books`.",
        "Nothing is said of find_book here.",
        "",
        None,
    ],
)
def test_instructions_that_name_what_is_there_are_taken(text: str | None) -> None:
    assert list(check_introduction(LIBRARY, text, NAMES, ())) == []


@pytest.mark.parametrize("text", ["First `find_book`.", "First `findBooks`.", "`find_books2()`"])
def test_a_name_that_is_nearly_there_is_told_with_the_right_one(text: str) -> None:
    [finding] = check_introduction(LIBRARY, text, NAMES, ())
    assert finding.code == "instructions-name-nothing"
    assert "there is 'find_books'" in finding.evidence


def test_the_name_of_an_argument_is_none_that_is_nearly_there() -> None:
    assert list(check_introduction(LIBRARY, "Give `find_book` a word.", NAMES, {"find_book"})) == []


def test_instructions_that_claude_code_cuts_are_noted() -> None:
    assert list(check_introduction(LIBRARY, "a" * 2048, NAMES, ())) == []
    [finding] = check_introduction(LIBRARY, "a" * 2049, NAMES, ())
    assert (finding.code, finding.evidence) == ("instructions-long", "2049 characters")
