"""`wigwag listen`."""

import json

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.cli.program import KIOSK, wigwag
from wigwag import Server
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.notices import Notices
from wigwag.cli.targets import Reach
from wigwag.errors import LocalProtocolError

pytestmark = pytest.mark.anyio


@pytest.fixture
def change_when_heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have something change as soon as somebody listens, and return what was told."""
    told: list[str] = []

    def say(self: Notices, text: str) -> None:
        told.append(text)
        if "listening for" in text:
            kiosk.tools_changed()
            kiosk.resource_updated("kiosk://menu")

    monkeypatch.setattr(Notices, "say", say)
    return told


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_a_change_is_a_line(
    mode: str, change_when_heard: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    reach = Reach(target=kiosk, mode=mode)
    assert await ask(reach, "listen --tools kiosk://menu --count 2") == ExitCode.DONE
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "kiosk://menu has changed",
        "the list of tools has changed",
    ]
    assert change_when_heard == ["wigwag: listening for changes of the list of tools, kiosk://menu"]


async def test_with_nothing_named_it_listens_for_all_lists(
    change_when_heard: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    await ask(kiosk, "listen --count 1")
    assert capsys.readouterr().out == "the list of tools has changed\n"
    assert "the list of prompts, the list of resources" in change_when_heard[0]


def test_programs_get_a_document_a_line_and_it_ends_when_it_is_to() -> None:
    ran = wigwag("listen", "--json", KIOSK, "--for", "0.1")
    assert (ran.code, ran.out, ran.err) == (ExitCode.DONE, "", "")


async def test_a_change_as_json_has_its_method(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server("one")
    server.resource("one://it", name="it")(lambda: "x")
    monkeypatch.setattr(
        "wigwag.cli.listen._tell_what_is_not_reported",
        lambda *_: server.resource_updated("one://it"),
    )
    await ask(server, "listen one://it --count 1 --json")
    assert json.loads(capsys.readouterr().out) == {
        "method": "notifications/resources/updated",
        "uri": "one://it",
    }


async def test_what_a_server_does_not_report_is_told(change_when_heard: list[str]) -> None:
    server = Server("tools only")
    server.tool(name="t")(lambda: "x")
    await ask(Reach(target=server, mode="legacy"), "listen --for 0.01")
    assert change_when_heard[0] == (
        "wigwag: the server does not report changes of the list of prompts, the list of resources"
    )


async def test_a_server_that_reports_nothing_is_not_listened_to() -> None:
    with pytest.raises(LocalProtocolError):
        await ask(Reach(target=Server("silent"), mode="legacy"), "listen --prompts")
