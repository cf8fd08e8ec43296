"""Tests of finding and opening browsers."""

import os
import sys
import threading
from pathlib import Path

import pytest

from wigwag.client.authorization.browsers import check_page, has_browser, open_in_browser
from wigwag.errors import AuthorizationUntrusted


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "darwin", True),
        ({}, "win32", True),
        ({"SSH_CONNECTION": "x"}, "darwin", False),
        ({"SSH_TTY": "x"}, "win32", False),
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"DISPLAY": ""}, "linux", False),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", True),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "x"}, "linux", False),
        ({"SSH_CONNECTION": "x", "BROWSER": "/vscode/browser.sh"}, "linux", True),
        ({"CI": "true", "DISPLAY": ":0", "BROWSER": "x"}, "linux", False),
        ({"GITHUB_ACTIONS": "true"}, "darwin", False),
    ],
)
def test_whether_a_user_sees_a_browser_is_told_from_the_environment(
    environment: dict[str, str], platform: str, expected: object
) -> None:
    assert has_browser(environment, platform) is expected


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ftp://as.example/",
        "https://",
        "https://as.example/\n--help",
        "https://as.example/ x",
        'https://as.example/"x',
        "https://as.example/'x<",
        "https://as.example/\u00e9",
        "https://as.example/\\x",
        "--help",
        "",
        "https://as.example/" + "x" * 100_000,
    ],
)
def test_nothing_but_the_url_of_a_page_is_opened(url: str) -> None:
    for use in (check_page, open_in_browser):
        with pytest.raises(AuthorizationUntrusted, match="no URL of a page"):
            use(url)


def test_a_url_of_a_page_may_be_long() -> None:
    check_page(f"https://as.example/authorize?scope={'x' * 10_000}&state=a~b%20c&x=[1]")


URL = "https://as.example/authorize?a=1&b=$(touch%20x);c=2"


def make_program(path: Path, then: str = "") -> Path:
    """Make a program that notes what it is called with, and says something."""
    path.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{path}.seen"\necho noise\n{then}\n')
    path.chmod(0o700)
    return path


def test_the_browser_of_the_environment_gets_the_url_and_no_shell_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = make_program(tmp_path / "browser")
    monkeypatch.setenv("BROWSER", str(program))
    monkeypatch.setattr("webbrowser._tryorder", [f"{program} %s"])
    monkeypatch.setattr("webbrowser._browsers", {})
    assert open_in_browser(URL)
    assert (tmp_path / "browser.seen").read_text() == URL


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there it is done otherwise")
@pytest.mark.parametrize(("then", "is_open"), [("", True), ("exit 3", False)])
def test_what_the_desktop_opens_writes_nothing_into_the_output(
    then: str,
    is_open: object,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    make_program(tmp_path / "xdg-open", then)
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("wigwag.client.authorization.browsers._OPENING_SECONDS", 60.0)
    assert open_in_browser(URL) is is_open
    assert (tmp_path / "xdg-open.seen").read_text() == URL
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="there it is done otherwise")
def test_a_browser_that_goes_on_running_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    may_end = tmp_path / "may-end"
    os.mkfifo(may_end)
    make_program(tmp_path / "xdg-open", f'read line < "{may_end}"')
    monkeypatch.delenv("BROWSER", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("wigwag.client.authorization.browsers._OPENING_SECONDS", 0.05)
    assert open_in_browser(URL)
    may_end.write_text("now\n")
    for thread in threading.enumerate():
        if thread.name == "wigwag-browser":
            thread.join(60.0)


def test_a_machine_without_a_browser_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("webbrowser._tryorder", [])
    monkeypatch.setattr("webbrowser._browsers", {})
    assert open_in_browser("https://as.example/") is False
