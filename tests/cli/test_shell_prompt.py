"""The line that is typed in the shell."""

import stat
import sys
from pathlib import Path

import pytest
from prompt_toolkit.history import InMemoryHistory

from wigwag.cli.shell_prompt import _kept, history_file


@pytest.mark.skipif(sys.platform == "win32", reason="it has folders of its own")
def test_what_was_typed_is_kept_where_only_its_owner_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert history_file() == tmp_path / "state" / "wigwag" / "shell_history"
    history = _kept()
    history.append_string("list tools")
    history.append_string(" call login password=x")
    assert stat.S_IMODE(history_file().stat().st_mode) == 0o600
    assert "list tools" in history_file().read_text()
    assert "password" not in history_file().read_text()
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_file() == tmp_path / ".local" / "state" / "wigwag" / "shell_history"


def test_where_no_file_can_be_the_shell_works_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    assert isinstance(_kept(), InMemoryHistory)
