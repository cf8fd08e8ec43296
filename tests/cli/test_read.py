"""`wigwag read`."""

import json
from pathlib import Path

import pytest

from tests.cli.in_process import ask
from tests.cli.kiosk import PNG, kiosk
from tests.cli.program import KIOSK, wigwag_at_terminal
from wigwag import RequestFailed
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.targets import Reach

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("line", "data"),
    [
        ("read kiosk://menu", b"bread\ntea"),
        ("read kiosk://logo", PNG),
        ("read kiosk://both", b"onetwo"),
        ("read kiosk://shelf/3/left", b"3 left"),
        ("read kiosk://shelf/{row}/{place} row=3 place='far left'", b"3 far left"),
    ],
)
@pytest.mark.parametrize("mode", ["modern", "2025-03-26"])
async def test_a_pipe_gets_a_resource_byte_for_byte(
    line: str, data: bytes, mode: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert await ask(Reach(target=kiosk, mode=mode), line) == ExitCode.DONE
    assert capfdbinary.readouterr().out == data


def test_a_terminal_gets_what_can_be_shown() -> None:
    with wigwag_at_terminal("read", KIOSK, "kiosk://both") as person:
        person.see("one\n")
        person.see("[data: text/x-two, 3 bytes; --save FOLDER writes it to a file]")
        assert person.exit_code() == ExitCode.DONE


async def test_programs_get_what_the_server_has_sent(capsys: pytest.CaptureFixture[str]) -> None:
    await ask(kiosk, "read kiosk://both --json")
    contents = json.loads(capsys.readouterr().out)["contents"]
    assert contents[0] == {"uri": "kiosk://both/1", "text": "one"}
    assert contents[1]["blob"] == "dHdv"


async def test_it_is_saved_under_its_own_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await ask(kiosk, f"read kiosk://logo --save {tmp_path}")
    assert (tmp_path / "content.png").read_bytes() == PNG
    assert capsys.readouterr().out == f"{tmp_path / 'content.png'}\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("read", r"say which resource: kiosk://menu, .*, kiosk://shelf/\{row\}/\{place\}"),
        ("read kiosk://shelf/{row}/{place}", r"is a template: put row=… place=… behind it"),
        ("read kiosk://shelf/{row}/{place} shlef=1", "has no variable 'shlef'; it has row, place"),
        ("read kiosk://menu today", "unexpected: today"),
        ("read kiosk://{", "kiosk://{"),
    ],
)
async def test_what_makes_no_sense_is_told(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        await ask(kiosk, line)


async def test_a_uri_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(RequestFailed, match=r"kiosk://meun; did you mean 'kiosk://menu'\?"):
        await ask(kiosk, "read kiosk://meun")
    with pytest.raises(RequestFailed) as failed:
        await ask(kiosk, "read kiosk://shelf/x/left")
    assert "did you mean" not in str(failed.value)
