"""Descriptions out of docstrings."""

from collections.abc import Callable
from typing import Any

from wigwag.server.annotations.docstrings import describe, read_docstring


def documented(text: str | None) -> Callable[..., Any]:
    def function() -> None: ...

    function.__doc__ = text
    return function


def test_a_function_without_a_docstring_has_no_descriptions() -> None:
    assert describe(documented(None)) == ("", {})
    assert describe(documented("")) == ("", {})


def test_the_text_before_the_sections_is_the_description() -> None:
    text = """Find articles.

    Looks at titles,
      and at texts.

    Args:
        query: What to look for.

    Returns:
        The articles.

    Raises:
        ValueError: Never.
    """
    assert describe(documented(text)) == (
        "Find articles.\n\nLooks at titles,\n  and at texts.",
        {"query": "What to look for."},
    )


def test_text_behind_a_section_belongs_to_the_description_again() -> None:
    text = """Find.

    Args:
        query: What.
    Note that it is slow.
    """
    summary, arguments = describe(documented(text))
    assert summary == "Find.\n\nNote that it is slow."
    assert arguments == {"query": "What."}


def test_sections_on_the_python_function_are_left_out() -> None:
    for section in ("Returns", "Return", "Raises", "Yields", "Example", "Examples", "See Also"):
        assert describe(documented(f"Find.\n\n{section}:\n    x: y\n")) == ("Find.", {})


def test_other_headings_are_text() -> None:
    text = "Find.\n\nNote:\n    Slow.\n"
    assert describe(documented(text)) == ("Find.\n\nNote:\n    Slow.", {})


def test_the_section_of_the_arguments_has_several_names() -> None:
    for section in ("Args", "Arguments", "Parameters"):
        assert describe(documented(f"F.\n\n{section}:\n    a: One.\n"))[1] == {"a": "One."}


def test_types_and_stars_are_no_part_of_a_name() -> None:
    text = """F.

    Args:
        a (int, optional): One.
        *rest: Two.
        **more (str): Three: with a colon.
        empty:
    """
    assert describe(documented(text))[1] == {
        "a": "One.",
        "rest": "Two.",
        "more": "Three: with a colon.",
        "empty": "",
    }


def test_an_entry_goes_on_over_indented_lines() -> None:
    text = """F.

    Args:
        a: One,
            and more: still of a.

            And a paragraph.
        b:
            Two.
    """
    assert describe(documented(text))[1] == {
        "a": "One, and more: still of a. And a paragraph.",
        "b": "Two.",
    }


def test_a_line_that_is_no_entry_belongs_to_the_one_before_it() -> None:
    text = """F.

    Args:
        before any entry
        a: One
        goes on without indentation
        not a name: either
    """
    assert describe(documented(text))[1] == {
        "a": "One goes on without indentation not a name: either"
    }


def test_entries_may_be_indented_as_one_likes() -> None:
    assert describe(documented("F.\n\nArgs:\n  a: One\n    more.\n  b: Two."))[1] == {
        "a": "One more.",
        "b": "Two.",
    }


def test_a_docstring_of_arguments_alone_has_no_summary() -> None:
    assert describe(documented("\n    Args:\n        a: One.\n    ")) == ("", {"a": "One."})


def test_a_docstring_that_begins_with_its_arguments_has_them() -> None:
    def take(a: int) -> None:
        """Args:
        a: One.
        """  # noqa: D205

    assert describe(take) == ("", {"a": "One."})


def test_attributes_are_described_and_are_no_part_of_the_description() -> None:
    text = "A place.\n\nAttributes:\n    x: To the right.\n"
    assert read_docstring(text) == ("A place.", {"x": "To the right."})


def test_what_numpy_writes_is_read() -> None:
    text = """Find articles.

    Looks at titles.

    Parameters
    ----------
    query : str
        What to look for,
        in words.
    first, last : int, optional
        Which of them.
    *rest
        More.
    bare
    Returns
    -------
    list of str
        The articles.

    Notes
    -----
    It is slow.
    """
    assert describe(documented(text)) == (
        "Find articles.\n\nLooks at titles.\n\nNotes\n-----\nIt is slow.",
        {
            "query": "What to look for, in words.",
            "first": "Which of them.",
            "last": "Which of them.",
            "rest": "More.",
        },
    )


def test_what_sphinx_writes_is_read() -> None:
    text = """Find articles.

    :param query: What to look for,
        in words.
    :param int limit: How many: at most.
    :type limit: int
    :keyword order:
        By what.
    :returns: The articles,
        in order.
    :raises ValueError: Never.
    :rtype: list

    It is slow.
    """
    assert describe(documented(text)) == (
        "Find articles.\n\nIt is slow.",
        {
            "query": "What to look for, in words.",
            "limit": "How many: at most.",
            "order": "By what.",
        },
    )


def test_roles_and_fields_that_sphinx_does_not_know_are_text() -> None:
    text = "Find.\n\n:class:`Article` is found.\n:note: Slowly.\n\n:param: nothing\n"
    assert describe(documented(text)) == ("Find.\n\n:class:`Article` is found.\n:note: Slowly.", {})


def test_a_rule_of_dashes_under_text_is_text() -> None:
    assert describe(documented("Find.\n\nHow\n---\nSlowly.\n")) == (
        "Find.\n\nHow\n---\nSlowly.",
        {},
    )
