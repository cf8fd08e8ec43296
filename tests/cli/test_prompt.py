"""`wigwag prompt`."""

import json

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import kiosk
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("mode", ["modern", "2024-11-05"])
async def test_a_prompt_is_filled_in(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await ask(Reach(target=kiosk, mode=mode), "prompt greet name=Ada") == ExitCode.DONE
    assert capsys.readouterr().out == ("Greet somebody.\nuser:\nGreet Ada, and be kind.\n")


async def test_programs_get_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, "prompt greet name=Ada tone=stern --json")
    (message,) = json.loads(capsys.readouterr().out)["messages"]
    text = {"type": "text", "text": "Greet Ada, and be stern."}
    assert message == {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("prompt", "say which prompt: greet"),
        ("prompt great", "there is no prompt 'great'; did you mean 'greet'"),
        ("prompt greet", "the prompt 'greet' needs name=…"),
        ("prompt greet nam=Ada", "has no argument 'nam'; did you mean 'name'"),
    ],
)
async def test_what_makes_no_sense_is_told_before_anything_is_sent(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        await ask(kiosk, line)
