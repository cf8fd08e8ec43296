"""How a server process is started: program, environment and folder, as a host has them."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from msgspec import Struct

from wigwag.doctor.secrets import shown_command
from wigwag.transports.stdio_client import StdioServerParameters, safe_environment

__all__ = ["HOST_PATH", "Start"]

HOST_PATH: Final = (
    os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"))
    if sys.platform != "win32"
    else os.pathsep.join((r"C:\Windows\system32", r"C:\Windows"))
)
"""The `PATH` of a host that is started from the desktop: the shell's settings are not in it."""


class Start(Struct, frozen=True, kw_only=True):
    """All that the start of a server process depends on.

    Attributes:
        command: The program, as it was written.
        args: Its arguments.
        given: The variables that were given for it.
        environment: All of its environment.
        cwd: The folder it starts in.
        title: The command line, without what is secret.
    """

    command: str
    args: tuple[str, ...]
    given: dict[str, str]
    environment: dict[str, str]
    cwd: Path
    title: str

    @classmethod
    def of(cls, server: StdioServerParameters) -> Start:
        """Return how a server is started."""
        given = dict(server.env or {})
        return cls(
            command=server.command,
            args=tuple(server.args),
            given=given,
            environment={**safe_environment(), **given},
            cwd=Path(server.cwd or Path.cwd()).absolute(),
            title=shown_command([server.command, *server.args], given),
        )

    @property
    def path(self) -> str:
        """Its `PATH`."""
        return self.environment.get("PATH", os.defpath)

    @property
    def program(self) -> str | None:
        """The path of the program; `None` if there is none."""
        if os.path.dirname(self.command):
            path = self.cwd / self.command
            return str(path) if path.is_file() else None
        return shutil.which(self.command, path=self.path)

    @property
    def program_name(self) -> str:
        """The name of the program: without folder, ending and version, in lower case."""
        name = Path(self.command.replace("\\", "/")).name.lower()
        name = name.removesuffix(".exe").removesuffix(".cmd")
        return name.rstrip("0123456789.") or name

    @property
    def script(self) -> str | None:
        """The file that an interpreter is given to run, as it was written, if that is seen."""
        if self.program_name not in ("python", "pythonw", "py", "node", "bun"):
            return None
        for part in self.args:
            if part in ("-m", "-c", "-e", "-p", "--eval", "--print", "-"):
                return None
            if not part.startswith("-") and "." in part and "://" not in part:
                return part if Path(part).suffix in _ENDINGS else None
        return None

    @property
    def script_path(self) -> Path | None:
        """The path of that file."""
        return None if self.script is None else self.cwd / self.script

    def with_program(self, program: str) -> str:
        """Return the command line with another program, as one would write it."""
        return shlex.join([program, *self.args])


_ENDINGS: Final = (".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts")
