"""Runs a server of this process once more, in a process of its own, over stdio.

Run as a module it is that process: `python -m wigwag.testing.process MODULE FILE NAME`.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

from wigwag.server.server import Server
from wigwag.transports.stdio_client import StdioServerParameters


def command_for(server: Server) -> StdioServerParameters:
    """Return the command that starts a server like this one.

    The process imports the module that has the server, so the server is as the module makes it:
    what a test has changed about it is not there.

    Raises:
        ValueError: No module has it.
    """
    module, name = _home_of(server)
    file = getattr(module, "__file__", None) or ""
    paths = [os.path.abspath(path) for path in sys.path]
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "wigwag.testing.process", module.__name__, file, name],
        env={"PYTHONPATH": os.pathsep.join(paths)},
    )


def _home_of(server: Server) -> tuple[ModuleType, str]:
    """Return the module that has a server as a global, and under which name."""
    found = [
        (module, name)
        for module in list(sys.modules.values())
        for name, value in list(getattr(module, "__dict__", {}).items())
        if value is server
    ]
    if not found:
        raise ValueError(
            f"{server!r} cannot be started as a process, which could not find it: make it at the "
            "top level of a module; or connect to a command, such as ['python', 'server.py']"
        )
    # A module that only imports it is as good, but less likely to be found.
    return min(found, key=lambda home: _has_test_name(home[0]))


def _has_test_name(module: ModuleType) -> bool:
    last = module.__name__.rpartition(".")[2]
    return last.startswith("test_") or last.endswith("_test") or last in ("conftest", "__main__")


def main(module_name: str, file: str, name: str) -> None:
    """Serve, over the standard streams of this process."""
    server: Any = getattr(_load(module_name, file), name)
    server.run()


def _load(name: str, file: str) -> ModuleType:
    """Import a module, by its file where it cannot be found by its name."""
    try:
        if name == "__main__":
            raise ModuleNotFoundError(name=name)
        found = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # One that the module itself imports, and that is not there, is a fault to be seen.
        if not file or error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        name = "served"
    else:
        return found
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:])
