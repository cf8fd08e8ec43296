"""Whether there is a browser on this machine for the user to see, and opening a URL in it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Final

from wigwag.errors import AuthorizationUntrusted

__all__ = ["check_page", "has_browser", "open_in_browser"]

# Nothing that a shell, a terminal or a browser could take for anything else.
_is_page: Final = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE).fullmatch
_MAX_CHARACTERS: Final = 65_536


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
    import webbrowser  # noqa: PLC0415 - few log in

    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False
