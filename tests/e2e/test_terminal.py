"""Questions of servers, asked at a real terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.host import PATIENCE, SERVERS
from tests.e2e.person import CTRL_C, CTRL_D, Person, at_terminal

PEOPLE = str(SERVERS / "asking_people.py")

ORDER = """
import sys, asyncio
from wigwag import Client, terminal_elicitation

async def main():
    command = [sys.executable, sys.argv[1]]
    async with Client(command, mode=sys.argv[2], elicitation=terminal_elicitation) as client:
        for _ in range(int(sys.argv[3])):
            print("RESULT " + (await client.call_tool("order")).text)

asyncio.run(main())
"""

PAGE = """
import sys, asyncio
from wigwag import Client
from wigwag.client.terminal import TerminalElicitation

def open_page(url):
    print("OPENED " + url)
    return "nowhere" not in url

async def main():
    asking = TerminalElicitation(open_page=open_page)
    command = [sys.executable, sys.argv[1]]
    async with Client(command, mode=sys.argv[2], elicitation=asking) as client:
        print("RESULT " + (await client.call_tool("sign_in", {"url": sys.argv[3]})).text)

asyncio.run(main())
"""

BLOCKING = """
import sys
from wigwag import connect_sync, terminal_elicitation

with connect_sync([sys.executable, sys.argv[1]], elicitation=terminal_elicitation) as client:
    print("RESULT " + client.call_tool("order").text)
"""

TAKEN_BACK = """
import sys, asyncio
from wigwag import Client
from wigwag.client.terminal import TerminalElicitation

class Watched:
    takes_pages = True
    def __init__(self):
        self.asking, self.begun = TerminalElicitation(), asyncio.Event()
    async def __call__(self, params):
        self.begun.set()
        return await self.asking(params)

async def main():
    watched = Watched()
    async with Client([sys.executable, sys.argv[1]], elicitation=watched) as client:
        order = asyncio.ensure_future(client.call_tool("order"))
        await watched.begun.wait()
        print("TOOL " + (await client.call_tool("count")).text)
        await asyncio.get_running_loop().run_in_executor(None, open(sys.argv[2]).read)
        order.cancel()
        try:
            await order
        except asyncio.CancelledError:
            print("TAKEN BACK")
    print("BYE " + input())

asyncio.run(main())
"""

MODES = ("modern", "legacy")


def result(person: Person) -> dict[str, object]:
    person.see("RESULT ")
    person.see("\n")
    found = json.loads(person.seen.rpartition("RESULT ")[2].splitlines()[0])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_person_fills_in_a_form(mode: str) -> None:
    with at_terminal(ORDER, PEOPLE, mode, "1") as person:
        person.see("parlour (the server `")
        person.see("  | What would you like?")
        person.see("\\x1b[2JSend? ")
        person.see("Your name\n")
        person.answer("Text: ", "A")
        person.see("That does not fit: at least 2 characters, not 1.")
        person.answer("Text: ", "Ada")
        person.see("mail (may be left out)")
        person.answer("Text: ", "nonsense")
        person.see("That does not fit: an email address, such as ada@example.com.")
        person.answer("Text: ", "")
        person.answer("Whole number [2]: ", "9")
        person.see("That does not fit: at most 3.")
        person.answer("Whole number [2]: ", "")
        person.answer("yes or no [yes]: ", "no")
        person.see("  1) Vanilla\n  2) Lemon\n")
        person.answer("Number of your choice: ", "")
        person.see("That does not fit: choose a number from 1 to 2.")
        person.answer("Number of your choice: ", "2")
        person.answer("Numbers of your choices, or none: ", "1 3")
        person.see("Your answers:\n  Your name: Ada\n  scoops: 2\n  cone: no\n")
        person.see("  flavour: Lemon\n  toppings: nuts, sauce\n")
        person.answer("Send? yes, no, or edit: ", "perhaps")
        person.answer("Send? yes, no, or edit: ", "edit")
        person.answer("Text [Ada]: ", "Eva")
        for prompt in ("Text: ", "[2]: ", "[no]: ", "[Lemon]: ", "[nuts, sauce]: "):
            person.answer(prompt, "")
        person.answer("Send? yes, no, or edit: ", "y")
        assert result(person) == {
            "action": "accept",
            "data": {
                "name": "Eva",
                "scoops": 2,
                "cone": False,
                "flavour": "l",
                "toppings": ["nuts", "sauce"],
            },
        }
        assert person.exit_code() == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("typed", "action"),
    [
        ("/decline\n", "decline"),
        ("/CANCEL\n", "cancel"),
        (CTRL_C, "cancel"),
        (f"half a na{CTRL_C}", "cancel"),
        (CTRL_D, "cancel"),
    ],
    ids=["a word declines", "a word cancels", "ctrl+c", "ctrl+c in a line", "end of input"],
)
def test_a_person_need_not_answer(mode: str, typed: str, action: str) -> None:
    with at_terminal(ORDER, PEOPLE, mode, "2") as person:
        keys = person.keys()
        for _ in range(2):  # the first leaves the terminal and the client as they were
            person.see("Text: ")
            person.type(typed)
            assert result(person)["action"] == action
        assert person.exit_code() == 0
        assert person.keys() == keys


def test_answers_need_not_be_sent() -> None:
    with at_terminal(ORDER, PEOPLE, "modern", "1") as person:
        person.answer("Text: ", "Ada")
        for prompt, text in (("Text: ", ""), ("[2]: ", ""), ("[yes]: ", ""), ("choice: ", "1")):
            person.answer(prompt, text)
        person.answer("choices, or none: ", "")
        person.answer("Send? yes, no, or edit: ", "n")
        assert result(person)["action"] == "decline"


def test_ctrl_c_breaks_off_the_question_and_not_a_blocking_client() -> None:
    with at_terminal(BLOCKING, PEOPLE) as person:
        person.see("Text: ")
        person.type(CTRL_C)
        assert result(person)["action"] == "cancel"
        assert person.exit_code() == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("typed", "url", "action"),
    [
        ("maybe\nyes\n", "https://example.com/in?a=b", "accept"),
        ("y\n", "https://nowhere.example", "accept"),
        ("n\n", "https://example.com", "decline"),
        (CTRL_C, "https://example.com", "cancel"),
    ],
)
def test_a_page_is_opened_only_for_a_person_who_wants_it(
    mode: str, typed: str, url: str, action: str
) -> None:
    with at_terminal(PAGE, PEOPLE, mode, url) as person:
        person.see("  | Sign in first.")
        person.see(f"\n  {url}\n")
        person.see("Open it in the browser? yes or no: ")
        assert "OPENED" not in person.seen
        person.type(typed)
        person.see(f"RESULT {action}")
        assert (f"OPENED {url}" in person.seen) == (action == "accept")
        assert ("open the page yourself" in person.seen) == ("nowhere" in url)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "ftp://example.com"])
def test_what_is_no_page_is_not_opened(url: str) -> None:
    with at_terminal(PAGE, PEOPLE, "modern", url) as person:
        person.see("This is no address of a web page")
        person.see("RESULT decline")
        assert "OPENED" not in person.seen


def test_the_host_of_a_page_is_shown_as_it_is() -> None:
    url = "https://bank.example@evil.example/"
    with at_terminal(PAGE, PEOPLE, "modern", url) as person:
        person.see("It is a page of evil.example.")
        person.answer("yes or no: ", "no")
        person.see("RESULT decline")


def test_a_question_is_taken_back_with_its_request(tmp_path: Path) -> None:
    until = tmp_path / "until"
    os.mkfifo(until)
    with at_terminal(TAKEN_BACK, PEOPLE, until) as person:
        keys = person.keys()
        person.see("Text: ")
        person.have_seen("TOOL three")
        until.write_text("now")
        person.see("TAKEN BACK")
        assert person.keys() == keys
        person.type("see you\n")
        person.see("BYE see you")
        assert person.exit_code() == 0


@pytest.mark.parametrize("mode", MODES)
def test_without_a_terminal_nobody_is_asked(mode: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ORDER, PEOPLE, mode, "1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert "there is nobody to ask: the standard input of this program is no terminal" in (
        done.stdout + done.stderr
    )
