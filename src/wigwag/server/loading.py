"""Loads the server that a target names: the one in a Python file or in a module."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from wigwag.errors import ServerNotLoaded
from wigwag.server.authors_code import tell_error
from wigwag.server.process import is_being_loaded
from wigwag.server.server import Server

__all__ = ["Code", "code_folder", "load_server"]

# Which one is meant where a file has several.
_USUAL_NAMES: Final = ("server", "mcp", "app")
# Packages with servers of their own, and where it is told how to come from there.
_OTHERS: Final = {"mcp": "docs/coming-from-mcp.md", "fastmcp": "docs/coming-from-fastmcp.md"}


class NoSuchModule(ValueError):
    """There is no module by the name that was given."""


def load_server(target: str, arguments: Sequence[str] = ()) -> Server:
    """Load the code that a target names, and return the server in it.

    The folder of a file, or the working folder for a module, comes first in `sys.path` from then
    on, as when Python runs the code itself. What stands below `if __name__ == "__main__":` is not
    run. A file within a package is loaded as a module of it, so that its relative imports work.

    Args:
        target: `server.py`, the server at the top level of a file; `server.py:name`, the one by
            that name, or what a function by that name returns; or a module in place of the file,
            as in `package.module:factory`.
        arguments: What the code sees as its own arguments, in `sys.argv`, while it is loaded.

    Raises:
        ValueError: There is no such file, module or name, or several servers could be meant.
        ServerNotLoaded: The code fails, or there is no server in it.
    """
    place, name = _split(target)
    with _being_loaded([place, *arguments]):
        if _is_file(place):
            module = _load(target, lambda: _import_file(target, Path(place)))
        else:
            module = _load(target, lambda: _import_module(place))
        if name is None:
            return _only_server(target, place, module)
        return _named_server(target, place, module, name)


class Code(Struct, frozen=True):
    """Code with a server in it, as it is told to the process that runs it.

    Attributes:
        target: What `load_server` takes.
        arguments: What the code sees as its own.
        log_level: What is to be shown of what is logged; `None` for what the code settles.
        may_change: Whether it is loaded anew when it changes.
    """

    target: str
    arguments: list[str] = []
    log_level: str | None = None
    may_change: bool = False

    def load(self) -> Server:
        """Load it; what it sees as its arguments it goes on to see.

        Raises:
            ValueError: There is no such file, module or name, or no such level.
            ServerNotLoaded: The code fails, or there is no server in it.
        """
        if self.may_change:
            # Bytecode stands for a file of the same size and second, however it has changed.
            sys.dont_write_bytecode = True
        server = load_server(self.target, self.arguments)
        sys.argv[:] = [_split(self.target)[0], *self.arguments]
        if self.log_level is not None:
            # Not before: what the code settles about the log would not count any more.
            logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
            logging.getLogger().setLevel(self.log_level.upper())
        return server


def code_folder(target: str) -> str:
    """Return the folder in which the code of a target is.

    Raises:
        ValueError: The target makes no sense, or there is no such file.
    """
    place, _ = _split(target)
    if not _is_file(place):
        return os.getcwd()
    path = Path(place).resolve()
    root, name = _module_of(path)
    return os.fspath(root / name.partition(".")[0] if "." in name else root)


def _split(target: str) -> tuple[str, str | None]:
    """Return the file or module, and the name in it if there is one."""
    place, colon, name = target.rpartition(":")
    name = name.removesuffix("()")
    if target.startswith(("http://", "https://")):
        raise ValueError(f"{target} runs already: a file or a module is to be named")
    if not colon or not all(part.isidentifier() for part in name.split(".")):
        place, name = target.removesuffix(":"), ""
    _check_place(target, place)
    return place, name or None


def _is_file(place: str) -> bool:
    return place.endswith(".py") or os.sep in place or os.path.exists(place)


def _check_place(target: str, place: str) -> None:
    if place.endswith(".json"):
        raise ValueError(f"{target} is a configuration: name the file of the server itself")
    if _is_file(place):
        _check_file(Path(place))
    elif not all(part.isidentifier() for part in place.split(".")):
        raise ValueError(
            f"{target!r} names no server: write server.py, server.py:name or package.module:name"
        )


def _check_file(path: Path) -> None:
    if path.is_file():
        if path.suffix != ".py":
            raise ValueError(f"{path} is not a Python file")
        return
    if path.is_dir():
        files = ", ".join(sorted(each.name for each in path.glob("*.py"))) or "none"
        raise ValueError(f"{path} is a folder: name the file; Python files in it: {files}")
    beside = [each.name for each in path.parent.glob("*.py")]
    near = get_close_matches(path.name, beside, n=1)
    hint = f"; did you mean {path.parent / near[0]}?" if near else ""
    raise ValueError(f"there is no file {path}{hint}")


# --- loading


@contextmanager
def _being_loaded(arguments: list[str]) -> Iterator[None]:
    """Let the code see its arguments, and not run a server that is only to be looked for."""
    given, sys.argv = sys.argv, arguments
    token = is_being_loaded.set(True)
    try:
        yield
    finally:
        is_being_loaded.reset(token)
        sys.argv = given


def _load(target: str, load: Callable[[], Any]) -> Any:
    """Do what runs code of the author."""
    try:
        return load()
    except (ServerNotLoaded, NoSuchModule):
        raise
    except SystemExit as error:
        told = tell_error(error).partition("\n")[2]
        raise ServerNotLoaded(
            f"{target} leaves while it is loaded, by sys.exit({error.code!r}): what is to happen "
            f'only when it is run belongs below `if __name__ == "__main__":`\n{told}'
        ) from None
    except Exception as error:  # noqa: BLE001 - it is told
        raise ServerNotLoaded(
            f"{target} cannot be loaded: {tell_error(error)}{_hint(error)}"
        ) from None


def _hint(error: Exception) -> str:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return ""
    return (
        f"\nIf {error.name.partition('.')[0]} is installed, then not for the Python that is used "
        f"here, which is {sys.executable}"
    )


def _import_module(name: str) -> ModuleType:
    folder = os.getcwd()
    _put_into_path(folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # something that it imports
        raise NoSuchModule(
            f"there is no module {error.name}: it is looked for in {folder}, and where "
            f"{sys.executable} has its packages"
        ) from None


def _import_file(target: str, path: Path) -> ModuleType:
    path = path.resolve()
    root, name = _module_of(path)
    _put_into_path(root)
    if "." in name:
        # Imports of what is beside it work too, but must not hide what others import.
        _put_into_path(path.parent, last=True)
        module = importlib.import_module(name)
        found = getattr(module, "__file__", None)
        if found is None or not os.path.samefile(found, path):
            raise ServerNotLoaded(f"{target} would be {name}, but that is loaded from {found}")
        return module
    return _execute(path, name)


def _module_of(path: Path) -> tuple[Path, str]:
    """Return the folder that a file is imported from, and its name there."""
    parts = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _execute(path: Path, name: str) -> ModuleType:
    if name in sys.modules:  # something else that was imported already
        name = f"{name}_to_run"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _put_into_path(folder: str | Path, *, last: bool = False) -> None:
    text = os.fspath(folder)
    if text not in sys.path:
        sys.path.insert(len(sys.path) if last else 0, text)


# --- finding the server in it


def _only_server(target: str, place: str, module: ModuleType) -> Server:
    found = _servers_in(module)
    if not found:
        raise ServerNotLoaded(
            f"there is no Server at the top level of {place}{_why(place, module)}"
        )
    mounted = {id(each) for server in found.values() for each in server._all_mounted()}
    outermost = {name: each for name, each in found.items() if id(each) not in mounted}
    for name in _USUAL_NAMES:
        if len(outermost) > 1 and name in outermost:
            return outermost[name]
    if len(outermost) > 1:
        choice = " or ".join(f"{place}:{name}" for name in outermost)
        raise ValueError(f"{target} has several servers: say which, as {choice}")
    return next(iter(outermost.values()))


def _servers_in(module: ModuleType) -> dict[str, Server]:
    """Return the servers at the top level, each once."""
    found: dict[str, Server] = {}
    for name, value in vars(module).items():
        if isinstance(value, Server) and not any(value is each for each in found.values()):
            found[name] = value
    return found


def _why(place: str, module: ModuleType) -> str:
    """Return what there is instead of a server."""
    for name, value in vars(module).items():
        package = type(value).__module__.partition(".")[0]
        if package in _OTHERS and type(value).__name__ in ("FastMCP", "MCPServer", "Server"):
            return (
                f": {name} is a {type(value).__name__} of `{package}`, which runs in its own way; "
                f"{_OTHERS[package]} tells how to change it"
            )
    made_by = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and value.__annotations__.get("return") in (Server, "Server", "wigwag.Server")
    ]
    if made_by:
        return f"; {made_by[0]} makes one: write {place}:{made_by[0]}"
    return f"; if a function makes it, name that, as {place}:create_server"


def _named_server(target: str, place: str, module: ModuleType, name: str) -> Server:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise ValueError(_not_there(place, module, name))
        value = getattr(value, part)
    if isinstance(value, Server):
        return value
    if not callable(value):
        raise ValueError(
            f"{target} is {_kind(value)}, and neither a Server nor a function that returns one"
        )
    made = _load(target, lambda: _call(target, value))
    if not isinstance(made, Server):
        raise ServerNotLoaded(f"{target} returns {_kind(made)}, and not a Server")
    return made


def _not_there(place: str, module: ModuleType, name: str) -> str:
    known = [each for each in vars(module) if not each.startswith("__")]
    servers = list(_servers_in(module))
    near = get_close_matches(name, known, n=1) or servers[:1]
    hint = f"; did you mean {place}:{near[0]}?" if near else ""
    return f"there is no {name} in {place}{hint}"


def _call(target: str, factory: Callable[[], Any]) -> Any:
    try:
        inspect.signature(factory).bind()
    except TypeError as error:
        raise ServerNotLoaded(f"{target} cannot be called without arguments: {error}") from None
    made = factory()
    if inspect.iscoroutine(made):
        return asyncio.run(made)
    return made


def _kind(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
