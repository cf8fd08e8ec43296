"""`wigwag list`."""

import json

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.cli.program import KITEBASE, wigwag, wigwag_at_terminal
from wigwag import Server
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio

KITEBASE_LISTED = """\
Tools (2)
  search_help  query [limit]  Find help articles, the best match first.
  get_ticket   ticket_id      Look one ticket up.

Prompts (1)
  triage  ticket_id  Judge how urgent a ticket is, and draft a first answer.

Resources (1)
  kitebase://articles  text/markdown  The titles of all help articles, with their addresses.

Resource templates (1)
  kitebase://articles/{slug}  text/markdown  One help article.
"""


def test_it_shows_all_that_a_server_offers() -> None:
    ran = wigwag("list", KITEBASE)
    assert (ran.code, ran.out, ran.err) == (ExitCode.DONE, KITEBASE_LISTED, "")


def test_at_a_terminal_nothing_wider_than_it_is_cut() -> None:
    with wigwag_at_terminal("list", KITEBASE) as person:
        person.see("Tools (2)")
        person.see("search_help")
        person.see("kitebase://articles/{slug}")
        assert person.exit_code() == ExitCode.DONE


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_programs_get_what_the_server_has_sent(
    mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask(Reach(target=kiosk, mode=mode), "list --json")
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == ["tools", "prompts", "resources", "resourceTemplates"]
    assert listed["tools"][0]["inputSchema"]["required"] == ["a"]
    assert listed["resourceTemplates"][0]["uriTemplate"] == "kiosk://shelf/{row}/{place}"


async def test_a_kind_shows_only_these(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, "list prompts templates")
    out = capsys.readouterr().out
    assert "greet  name [tone]  Greet somebody." in out
    assert "kiosk://shelf/{row}/{place}  text/plain  One place on a shelf." in out
    assert "Tools" not in out
    assert "Resources" not in out


@pytest.mark.parametrize("name", ["kiosk://menu", "menu"])
async def test_a_name_shows_all_about_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, f"list {name}")
    assert capsys.readouterr().out == (
        "kiosk://menu\n"
        "  name         menu\n"
        "  title        The menu\n"
        "  type         text/plain\n"
        "  description  What there is.\n"
    )


async def test_a_name_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"the server has no 'bkae'; did you mean 'bake'\?"):
        await ask(kiosk, "list bkae")


async def test_a_server_without_anything_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(Server("empty"), "list")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the server has no tools and no prompts and no resources" in captured.err
