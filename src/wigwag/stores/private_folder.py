"""A folder that only its owner can read and write, for what is secret."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Final

from wigwag.errors import AuthorizationFailed

__all__ = ["PrivateFolder", "default_folder"]

VARIABLE: Final = "WIGWAG_CREDENTIALS"

_WRITABLE_BY_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


def default_folder() -> Path:
    """Return where credentials are kept: as the environment says, or else in the platform's place.

    Raises:
        AuthorizationFailed: The platform's place is not known, as a package is missing.
    """
    named = os.environ.get(VARIABLE, "")
    if named:
        return Path(named).expanduser()
    try:
        import platformdirs  # noqa: PLC0415 - only for who needs authorization
    except ImportError:
        raise AuthorizationFailed(
            "to keep credentials takes platformdirs, which is not installed",
            "",
            f"pip install 'wigwag[auth]', or set {VARIABLE} to a folder",
        ) from None
    return platformdirs.user_state_path("wigwag", appauthor=False) / "credentials"


class PrivateFolder:
    """A folder that is made when it is first needed, and never trusted if others may write it.

    Args:
        path: Where it is. Links to it are followed once and for all.
    """

    def __init__(self, path: Path) -> None:
        self.path: Final = Path(os.path.realpath(path.expanduser()))

    def make(self) -> None:
        """See to it that it is there.

        Raises:
            AuthorizationFailed: It cannot be made, or others may write it.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise self.failure("cannot be made", error) from None
        self.is_there()

    def is_there(self) -> bool:
        """Tell whether it is there.

        Raises:
            AuthorizationFailed: Others may write it, or it cannot be looked at.
        """
        try:
            found = self.path.lstat()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self.failure("cannot be read", error) from None
        if not stat.S_ISDIR(found.st_mode):
            raise AuthorizationFailed(
                "credentials are to be kept in a folder, and this is none",
                str(self.path),
                f"remove it, or set {VARIABLE} to another folder",
            )
        # Elsewhere access is not a matter of modes, and the platform's place is the user's own.
        if sys.platform != "win32":
            self._check_owner(found)
        return True

    def _check_owner(self, found: os.stat_result) -> None:
        if found.st_uid != os.geteuid():
            raise AuthorizationFailed(
                "the folder of credentials belongs to another user",
                str(self.path),
                f"set {VARIABLE} to a folder of your own",
            )
        if found.st_mode & _WRITABLE_BY_OTHERS:
            raise AuthorizationFailed(
                "other users may write to the folder of credentials",
                str(self.path),
                "look who has put what there, then `chmod 700` it",
            )

    def failure(self, what: str, error: OSError) -> AuthorizationFailed:
        """Return the error that says what cannot be done with the folder, and why."""
        return AuthorizationFailed(
            f"the folder of credentials {what}: {error.strerror or type(error).__name__}",
            str(self.path),
            f"correct that, or set {VARIABLE} to another folder",
        )
