"""What commands print."""

import pytest

from wigwag.cli.output import print_json


def test_json_for_programs_is_one_line_with_letters_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json({"name": "Đ"})
    assert capsys.readouterr().out == '{"name": "Đ"}\n'
