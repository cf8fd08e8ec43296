"""Tables for people."""

import pytest

from tests.e2e.person import at_terminal
from wigwag.cli.tables import print_table


def test_in_a_pipe_a_row_is_a_line_with_columns_below_each_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table("Birds", [("owl", "flies\n at night"), ("penguin", "\x1b[1mswims")])
    assert capsys.readouterr().out == (
        "Birds\n  owl      flies at night\n  penguin  \\x1b[1mswims\n"
    )


def test_at_a_terminal_long_texts_go_on_below_and_markup_is_none() -> None:
    script = (
        "from wigwag.cli.tables import print_table\n"
        "print_table('Birds', [('[bold]owl[/]', 'word ' * 40 + ':smile:')])"
    )
    with at_terminal(script) as person:
        person.see_the_end()
        assert person.exit_code() == 0
    lines = person.seen.splitlines()
    assert len(lines) > 3
    assert "[bold]owl[/]" in lines[1]
    assert ":smile:" in lines[-1]
