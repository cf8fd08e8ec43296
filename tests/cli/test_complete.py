"""`wigwag complete`."""

import asyncio
import json

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.interaction.peers import PeerServer
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("complete greet tone=ki", "kind\nkindly\n"),
        ("complete greet tone", "kind\nkindly\nstern\n"),
        ("complete kiosk://shelf/{row}/{place} place= row=3", "3-left\nright\n"),
        ("complete shelf place=", "any-left\nright\n"),
    ],
)
async def test_what_may_follow_is_a_line_each(
    line: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ask(kiosk, line) == ExitCode.DONE
    assert capsys.readouterr().out == out


async def test_programs_get_what_the_server_has_sent(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, "complete greet tone=ki --json")
    assert json.loads(capsys.readouterr().out)["values"] == ["kind", "kindly"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("complete greet", "say of what, and which argument"),
        ("complete great tone", "no prompt or resource template 'great'; did you mean 'greet'"),
        ("complete x tone", "there are greet, kiosk://shelf/{row}/{place}"),
        ("complete greet tone=k name", "'name' is no argument that is known already"),
    ],
)
async def test_what_makes_no_sense_is_told(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        await ask(kiosk, line)


async def test_that_there_are_more_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    peer = PeerServer("2025-11-25")
    asking = asyncio.create_task(ask(Reach(target=peer.open, mode="legacy"), "complete p a=x"))
    peer.reply(await peer.next("logging/setLevel"))
    peer.reply(await peer.next("prompts/list"), prompts=[{"name": "p"}])
    asked = await peer.next("completion/complete")
    peer.reply(asked, completion={"values": ["xy"], "total": 7, "hasMore": True})
    await asking
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("xy\n", "wigwag: there are 6 more\n")
