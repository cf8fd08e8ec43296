"""`wigwag ping`."""

import json
import re

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from tests.cli.program import KITEBASE, wigwag_at_terminal
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_it_tells_how_long_each_answer_took(
    era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await ask(Reach(target=kiosk, mode=era), "ping --count 2") == ExitCode.DONE
    out = capsys.readouterr().out
    assert re.fullmatch(r"(answer in \d+\.\d ms\n){2}min .*, mean .*, max .* ms\n", out)


async def test_it_prints_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(Reach(target=kiosk, mode="2025-06-18"), "ping --json")
    found = json.loads(capsys.readouterr().out)
    assert found["revision"] == "2025-06-18"
    assert len(found["milliseconds"]) == 1


def test_it_works_at_a_terminal() -> None:
    with wigwag_at_terminal("ping", KITEBASE) as person:
        person.see("answer in ")
        assert person.exit_code() == ExitCode.DONE


async def test_it_takes_no_more_words_than_the_target() -> None:
    with pytest.raises(ValueError, match="unexpected: again"):
        await ask(kiosk, "ping again")
