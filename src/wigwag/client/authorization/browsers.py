"""Whether there is a browser on this machine for the user to see, and opening a URL in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Final

from wigwag.errors import AuthorizationUntrusted

__all__ = ["check_page", "has_browser", "open_in_browser"]

# Nothing that a shell, a terminal or a browser could take for anything else.
_is_page: Final = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE).fullmatch
_MAX_CHARACTERS: Final = 65_536
# Whatever cannot open a browser says so by then.
_OPENING_SECONDS: Final = 5.0


def has_browser(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Tell whether a browser that is opened here is likely to be seen by the user.

    Args:
        environment: The environment variables.
        platform: The platform, as `sys.platform` names it.
    """
    if environment.get("CI") or environment.get("GITHUB_ACTIONS"):
        return False
    if environment.get("BROWSER"):  # as editors set it that run on another machine
        return True
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return False
    if platform in ("win32", "darwin", "cygwin"):
        return True
    names = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    return any(environment.get(name) for name in names)


def check_page(url: str) -> None:
    """Refuse what is no URL of a page; nothing else is ever opened, or shown to be opened.

    Raises:
        AuthorizationUntrusted: It is none.
    """
    if len(url) > _MAX_CHARACTERS or not _is_page(url):
        raise AuthorizationUntrusted(
            "the authorization server sends its users to something that is no URL of a page",
            "",
            "nothing was opened; tell its operator",
        )


def open_in_browser(url: str) -> bool:
    """Open a URL, and tell whether that seems to have worked; it may take a while.

    Raises:
        AuthorizationUntrusted: It is no http or https URL.
    """
    check_page(url)
    opener = None if sys.platform in ("win32", "darwin") else shutil.which("xdg-open")
    if opener is not None and not os.environ.get("BROWSER"):
        return _open_apart([opener, url])
    import webbrowser  # noqa: PLC0415 - few log in

    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


def _open_apart(command: Sequence[str]) -> bool:
    """Start a browser such that what it writes is not taken for output of this program."""
    try:
        browser = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        return browser.wait(_OPENING_SECONDS) == 0
    except subprocess.TimeoutExpired:  # it runs as long as its window is open
        threading.Thread(target=browser.wait, name="wigwag-browser", daemon=True).start()
        return True
