"""Telling errors of code that is not ours."""

import re

import pytest

from wigwag import RequestFailed, ServerNotLoaded
from wigwag.server.authors_code import blaming_the_author, tell_error


def failing() -> None:
    try:
        raise KeyError("token")
    except KeyError as error:
        raise OSError("no database") from error


def test_what_had_led_to_it_is_told_too() -> None:
    with pytest.raises(OSError, match="no database") as caught:
        failing()
    text = tell_error(caught.value)
    assert text.startswith("OSError: no database\n  File ")
    assert "\ncaused by KeyError: 'token'\n  File " in text


def hiding() -> None:
    try:
        raise KeyError("token")
    except KeyError:
        raise OSError("no database") from None


def test_what_was_not_to_be_told_is_not() -> None:
    with pytest.raises(OSError, match="no database") as caught:
        hiding()
    assert "KeyError" not in tell_error(caught.value)


def test_what_fails_later_on_is_an_error_of_the_code() -> None:
    told = re.escape("x.py cannot serve: OSError: no database")
    with pytest.raises(ServerNotLoaded, match=told), blaming_the_author("x.py"):
        failing()


def test_what_the_library_says_is_left_as_it_is() -> None:
    with pytest.raises(RequestFailed), blaming_the_author("x.py"):
        raise RequestFailed(-32603, "no")
