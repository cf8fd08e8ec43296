"""Tests of finding and opening browsers."""

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


def test_the_browser_of_the_environment_gets_the_url_and_no_shell_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {tmp_path}/seen\n')
    program.chmod(0o700)
    monkeypatch.setattr("webbrowser._tryorder", [f"{program} %s"])
    monkeypatch.setattr("webbrowser._browsers", {})
    url = "https://as.example/authorize?a=1&b=$(touch%20x);c=2"
    assert open_in_browser(url)
    assert (tmp_path / "seen").read_text() == url


def test_a_machine_without_a_browser_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser._tryorder", [])
    monkeypatch.setattr("webbrowser._browsers", {})
    assert open_in_browser("https://as.example/") is False
