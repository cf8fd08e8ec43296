"""Logging in at a real terminal, with the browser on another machine or on this one."""

import asyncio

import pytest

from tests.e2e.person import CTRL_C, at_terminal
from tests.unit.client.authorization.browser import get

LOG_IN = """
import asyncio, sys
from wigwag.client.authorization.terminal_login import TerminalLogin
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.steps import AskUser

async def main():
    login = TerminalLogin(timeout=float(sys.argv[1]))
    uri = await login.listen(tuple(sys.argv[2:]))
    print("URI " + uri + " END")
    url = "https://as.example/authorize?state=abc"
    try:
        question = AskUser(url, uri, "https://mcp.example", "https://as.example")
        print("CAME " + await login.ask(question))
    except AuthorizationFailed as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        await login.aclose()
    print("BYE " + input())

asyncio.run(main())
"""

PROMPT = "paste it here (Ctrl+C breaks off):\n"


def test_what_is_pasted_is_the_answer() -> None:
    with at_terminal(LOG_IN, "300") as person:
        person.see("To give access to https://mcp.example, log in at https://as.example.\n")
        person.see("\n  https://as.example/authorize?state=abc\n")
        person.answer(PROMPT, "http://127.0.0.1:1/callback?code=x&state=abc")
        person.see("CAME http://127.0.0.1:1/callback?code=x&state=abc\n")
        person.type("next\n")
        person.see("BYE next")
        assert person.exit_code() == 0


def test_what_is_not_the_answer_is_asked_for_again() -> None:
    with at_terminal(LOG_IN, "300") as person:
        person.answer(PROMPT, "")
        person.type("abc\n")
        person.answer("That is not it:", "?code=x&state=old")
        person.answer("That is the address of another log-in.", "'error=no&state=abc'")
        person.see("CAME error=no&state=abc\n")


def test_a_browser_that_comes_back_to_this_machine_is_the_answer_too() -> None:
    with at_terminal(LOG_IN, "300") as person:
        person.see("URI ")
        person.see(" END")
        uri = person.seen.partition("URI ")[2].partition(" END")[0]
        person.see(PROMPT)
        keys_before = person.keys()
        answer = asyncio.run(get(f"{uri}?code=x&state=abc"))
        assert answer.status == 200
        person.see(f"CAME {uri}?code=x&state=abc\n")
        person.type("next\n")  # the terminal is free again
        person.see("BYE next")
        assert person.exit_code() == 0
        assert person.keys() != keys_before


def test_ctrl_c_breaks_the_log_in_off_and_not_the_program() -> None:
    with at_terminal(LOG_IN, "300") as person:
        person.see(PROMPT)
        person.type(CTRL_C)
        person.see("AuthorizationRefused: the log-in was broken off at the terminal (https")
        person.type("next\n")
        person.see("BYE next")
        assert person.exit_code() == 0


def test_nobody_is_waited_for_longer_than_allowed() -> None:
    with at_terminal(LOG_IN, "0.2") as person:
        person.see("AuthorizationFailed: no browser came back within 0.2 s")
        person.type("next\n")
        person.see("BYE next")
        assert person.exit_code() == 0


@pytest.mark.parametrize("uri", ["https://app.example/callback"])
def test_a_redirect_uri_of_another_machine_will_do(uri: str) -> None:
    with at_terminal(LOG_IN, "300", uri) as person:
        person.see(f"URI {uri} END")
        person.answer(PROMPT, f"{uri}?code=x&state=abc")
        person.see(f"CAME {uri}?code=x&state=abc")
