"""`wigwag ping`."""

import re

import pytest

from tests.cli.program import KITEBASE, wigwag, wigwag_at_terminal
from wigwag.cli.exit_codes import ExitCode


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_it_tells_how_long_each_answer_took(era: str) -> None:
    ran = wigwag("ping", KITEBASE, "--era", era, "--count", "2")
    assert ran.code == ExitCode.DONE
    assert re.fullmatch(r"(answer in \d+\.\d ms\n){2}min .*, mean .*, max .* ms\n", ran.out), ran


def test_it_prints_json_for_programs() -> None:
    ran = wigwag("ping", "--json", "--revision", "2025-06-18", KITEBASE)
    assert ran.code == ExitCode.DONE
    assert ran.json["revision"] == "2025-06-18"
    assert len(ran.json["milliseconds"]) == 1


def test_it_works_at_a_terminal() -> None:
    with wigwag_at_terminal("ping", KITEBASE) as person:
        person.see("answer in ")
        assert person.exit_code() == ExitCode.DONE


def test_it_takes_no_more_words_than_the_target() -> None:
    ran = wigwag("ping", KITEBASE, "again")
    assert ran.code == ExitCode.USAGE
    assert "unexpected: again" in ran.err
