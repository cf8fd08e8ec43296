"""Tests of the folder of credentials."""

import os
import stat
import sys
from pathlib import Path

import pytest

from wigwag.errors import AuthorizationFailed
from wigwag.stores.private_folder import PrivateFolder, default_folder


def test_the_environment_says_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WIGWAG_CREDENTIALS", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WIGWAG_CREDENTIALS", "~/mine")
    assert default_folder() == tmp_path / "mine"


def test_the_platform_has_a_place_for_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WIGWAG_CREDENTIALS", "")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "wigwag" / "credentials"


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIGWAG_CREDENTIALS", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(AuthorizationFailed, match=r"pip install 'wigwag\[auth\]'"):
        default_folder()


def test_it_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "a" / "b")
    assert not folder.is_there()
    before = os.umask(0)
    try:
        folder.make()
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert folder.is_there()
    folder.make()


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_one_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    folder = PrivateFolder(tmp_path / "open")
    folder.path.mkdir()
    folder.path.chmod(mode)
    with pytest.raises(AuthorizationFailed, match=r"other users may write .*open\); .*chmod 700"):
        folder.is_there()
    with pytest.raises(AuthorizationFailed, match="other users may write"):
        folder.make()


def test_one_that_others_may_only_look_into_is_good_enough(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert PrivateFolder(tmp_path).is_there()


def test_that_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(AuthorizationFailed, match="belongs to another user"):
        PrivateFolder(tmp_path).is_there()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AuthorizationFailed, match="this is none"):
        PrivateFolder(tmp_path / "file").is_there()
    with pytest.raises(AuthorizationFailed, match="cannot be made: File exists"):
        PrivateFolder(tmp_path / "file").make()
    with pytest.raises(AuthorizationFailed, match="cannot be read: Not a directory"):
        PrivateFolder(tmp_path / "file" / "below").is_there()


def test_a_link_to_it_is_followed_once(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(there)
    folder = PrivateFolder(tmp_path / "link")
    (tmp_path / "link").unlink()
    assert folder.path == there
    assert folder.is_there()
