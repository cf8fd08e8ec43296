"""`wigwag call`."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import PNG, kiosk
from tests.cli.program import KIOSK, KITEBASE, wigwag, wigwag_at_terminal
from tests.interaction.peers import PeerServer
from tests.interaction.test_tasks import RELATED, TASK, WITH_TASKS
from wigwag import RequestFailed
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


def test_a_tool_is_called_with_what_its_schema_takes() -> None:
    ran = wigwag("call", KITEBASE, "search_help", "query=redirect loop", "limit=1")
    assert ran.code == ExitCode.DONE
    assert json.loads(ran.out)[0]["uri"] == "kitebase://articles/sso-redirect-loop"
    assert "search_help called with 'redirect loop'" in ran.err


async def test_programs_get_the_whole_result_and_a_failure_by_the_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await ask(kiosk, "call fail --json") == ExitCode.FAILED
    found = json.loads(capsys.readouterr().out)
    assert found["isError"] is True
    assert found["content"][0]["text"] == "no paper\x1b[2J\x1b]0;mine\x07"


def test_arguments_come_from_the_standard_input() -> None:
    ran = wigwag("call", "--json", KITEBASE, "get_ticket", "-", stdin='{"ticket_id": "KITE-142"}')
    assert ran.code == ExitCode.DONE
    assert ran.json["structuredContent"]["id"] == "KITE-142"


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("call add a=2", "3\n"),
        ("call add a=2 b=-5", "-3\n"),
        ("call tag names=x names=y level=7", "x and y at 7\n"),
        ("call tag names:='[\"x\"]'", "x at None\n"),
        ("call apart", 'three rows\n{\n  "rows": 3\n}\n'),
        (
            "call everything",
            "words\n"
            "[picture: image/png, 24 bytes; --save FOLDER writes it to a file]\n"
            "[sound: audio/wav, 4 bytes; --save FOLDER writes it to a file]\n"
            "[link: menu] kiosk://menu (text/plain, 1.2 kB)\n"
            "a note\n",
        ),
    ],
)
async def test_what_a_tool_returns_is_printed(
    line: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ask(kiosk, line) == ExitCode.DONE
    assert capsys.readouterr().out == out


async def test_a_tool_that_fails_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask(kiosk, "call fail") == ExitCode.FAILED
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ("wigwag: the tool 'fail' failed: no paper\\x1b[2J\\x1b]0;mine\\x07\n")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("call", "say which tool: add, tag, fail"),
        ("call ad a=1", "there is no tool 'ad'; did you mean 'add'?"),
        ("call add a=1 c=2", "the tool 'add' has no argument 'c'; it takes a, b"),
        ("call add", "the tool 'add' needs a=…"),
    ],
)
async def test_what_makes_no_sense_is_told_before_anything_is_sent(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        await ask(kiosk, line)


async def test_unchecked_arguments_are_for_the_server_to_judge(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await ask(kiosk, "call --unchecked add a=1 c=2") == ExitCode.FAILED
    assert "`c` is not an argument" in capsys.readouterr().err
    with pytest.raises(RequestFailed, match="Unknown tool"):
        await ask(kiosk, "call --unchecked ad a=1")


async def test_pictures_and_sounds_are_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask(kiosk, f"call everything --save {tmp_path}")
    assert (tmp_path / "everything.wav").read_bytes() == b"beep"
    assert (tmp_path / "content.txt").read_text() == "a note"
    assert (tmp_path / "everything.png").read_bytes() == PNG
    await ask(kiosk, f"call everything --json --save {tmp_path}")
    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["content"][0]["text"] == "words"
    assert f"wigwag: wrote {tmp_path / 'everything-2.png'}" in captured.err


async def test_log_messages_are_told_beside_the_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    await ask(kiosk, "call bake")
    captured = capsys.readouterr()
    assert captured.out == "bread\n"
    assert captured.err == "[info oven] step 1\n[info oven] step 2\n"


async def test_a_form_is_filled_in_with_given_answers(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, "call order", answers=("what=tea", "count=2"))
    assert capsys.readouterr().out == "2 tea\n"


def test_where_nobody_can_be_asked_it_is_said_what_would_help() -> None:
    ran = wigwag("call", KIOSK, "order")
    assert ran.code == ExitCode.REFUSED
    assert "elicitation; run it at a terminal, where you can be asked; --answer answers" in ran.err


# --- at a terminal


def test_a_person_sees_progress_and_answers_questions_and_what_the_server_sends_is_harmless() -> (
    None
):
    with wigwag_at_terminal("call", KIOSK, "bake") as person:
        person.see("50%  in the oven")
        person.see("[info oven]")
        person.see("bread")
        assert person.exit_code() == ExitCode.DONE
    with wigwag_at_terminal("call", KIOSK, "order") as person:
        person.answer("Number of your choice: ", "2")
        person.answer("Whole number [1]: ", "3")
        person.answer("Send? yes, no, or edit: ", "yes")
        person.see("3 tea")
        assert person.exit_code() == ExitCode.DONE
    with wigwag_at_terminal("call", "--era", "legacy", KIOSK, "think") as person:
        person.see("Which bread is best?")
        person.answer("Answer: ", "rye")
        person.answer("| ", "")
        person.see("it says rye")
        assert person.exit_code() == ExitCode.DONE
    with wigwag_at_terminal("call", KIOSK, "hostile") as person:
        person.see_the_end()
        assert person.exit_code() == ExitCode.DONE
    assert "\x1b[2J" not in person.seen
    assert "so \\x1b[2J\\x1b]0;mine\\x07it is" in person.seen


# --- tasks


async def test_a_tool_is_called_as_a_task_and_its_state_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    peer = PeerServer("2025-11-25", capabilities=WITH_TASKS)
    reach = Reach(target=peer.open, mode="2025-11-25")
    calling = asyncio.create_task(ask(reach, "call --unchecked --task slow n:=1"))
    peer.reply(await peer.next("logging/setLevel"))
    peer.reply(await peer.next("tools/list"), tools=[])
    asked = await peer.next("tools/call")
    assert asked["params"]["arguments"] == {"n": 1}
    peer.reply(asked, task={**TASK, "pollInterval": 1})
    waited = await peer.next("tasks/result")
    peer.reply(await peer.next("tasks/get"), **{**TASK, "status": "completed", "pollInterval": 1})
    peer.reply(waited, content=[{"type": "text", "text": "done"}], _meta=RELATED)
    assert await calling == ExitCode.DONE
    captured = capsys.readouterr()
    assert captured.out == "done\n"
    assert "wigwag: this is task t1" in captured.err
