"""Fills in the variables in the configurations of hosts, such as `${HOME}` and `${input:token}`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

# A variable; or the beginning of one that has no end, or another one in it.
_VARIABLE: Final = re.compile(r"\$\{(?P<inside>[^{}]*)\}|\$\{")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Variables:
    """What variables stand for.

    Args:
        inputs: The values of `${input:…}`, by their ids.
        workspace_folder: What `${workspaceFolder}` means; by default the current folder.
        environment: Where environment variables are looked up, whenever one is filled in; by
            default the environment of this process.
    """

    def __init__(
        self,
        *,
        inputs: Mapping[str, str] | None = None,
        workspace_folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.workspace_folder = workspace_folder or Path.cwd()
        self._inputs = inputs or {}
        self._environment = os.environ if environment is None else environment

    def fill_in(self, text: str) -> str:
        """Return a text with the values of its variables. A value is taken as it is.

        Raises:
            ValueError: One of them has no value.
        """
        return _VARIABLE.sub(self._value_of, text)

    def _value_of(self, found: re.Match[str]) -> str:
        inside = found["inside"]
        if inside is None:
            raise ValueError("a `${` has no `}` of its own; variables do not nest")
        kind, colon, name = inside.partition(":")
        if kind == "input" and colon:
            return self._input(name)
        own = self._own(inside)
        if own is not None:
            return own
        name, has_default, default = inside.removeprefix("env:").partition(":-")
        if not _NAME.fullmatch(name) and not (kind == "env" and name):
            raise ValueError(f"${{{inside}}} is not known")
        value = self._environment.get(name)
        if value is not None:
            return value
        if has_default:
            return default
        raise ValueError(
            f"there is no environment variable {name}: set it, or write ${{{name}:-default}}"
        )

    def _input(self, name: str) -> str:
        if name not in self._inputs:
            raise ValueError(
                f"${{input:{name}}} has no value: give load_configuration() "
                f"`inputs={{{name!r}: …}}`"
            )
        return self._inputs[name]

    def _own(self, name: str) -> str | None:
        """Return the value of what editors define themselves, if it is that."""
        match name:
            case "workspaceFolder":
                return str(self.workspace_folder)
            case "workspaceFolderBasename":
                return self.workspace_folder.name
            case "userHome":
                return str(Path.home())
            case "cwd":
                return os.getcwd()
            case "pathSeparator" | "/":
                return os.sep
        return None
