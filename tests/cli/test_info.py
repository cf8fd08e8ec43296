"""`wigwag info`."""

import json

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.interaction.peers import PeerServer
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


async def test_it_shows_what_a_server_says_of_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask(kiosk, "info") == ExitCode.DONE
    assert capsys.readouterr().out == (
        "kiosk 2.0\n"
        "  title             The kiosk\n"
        "  revision          2026-07-28 (modern)\n"
        "  modern revisions  2026-07-28\n"
        "  capabilities      logging; completions; prompts (listChanged); "
        "resources (subscribe, listChanged); tools (listChanged)\n"
        "\n"
        "Instructions\n"
        "  Be kind.\\x1b[2J\\x1b]0;mine\\x07\n"
    )


async def test_programs_get_it_as_the_protocol_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(Reach(target=kiosk, mode="2025-06-18"), "info --json")
    found = json.loads(capsys.readouterr().out)
    assert found["revision"] == "2025-06-18"
    assert found["era"] == "legacy"
    assert found["serverInfo"] == {"name": "kiosk", "version": "2.0", "title": "The kiosk"}
    assert found["capabilities"]["tools"] == {"listChanged": True}
    await ask(kiosk, "info --json")
    assert json.loads(capsys.readouterr().out)["supportedVersions"] == ["2026-07-28"]


async def test_a_server_that_declares_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    peer = PeerServer("2025-03-26", capabilities={})
    await ask(Reach(target=peer.open, mode="legacy"), "info")
    assert "  capabilities  none\n" in capsys.readouterr().out


async def test_it_takes_no_words() -> None:
    with pytest.raises(ValueError, match="unexpected: now"):
        await ask(kiosk, "info now")
