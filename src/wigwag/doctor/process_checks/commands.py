"""Judges the command of a server before it is started, and whether a host would find it."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.process_checks.start import HOST_PATH, Start

__all__ = ["check_command"]

_SHELL_SYNTAX: Final = ("&&", "||", "|", ";", ">", "<", "&")
_SHELLS: Final = ("sh", "bash", "zsh", "fish", "dash", "cmd", "powershell", "pwsh")
_BUILT_IN: Final = ("cd", "source", "export", "alias", "nvm", "conda activate")
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_]\w*)\}?|%([A-Za-z_]\w*)%")
# Options of `docker run` that take no value; all others do.
_DOCKER_FLAGS: Final = (
    *("-d", "--detach", "--init", "--no-healthcheck", "-P", "--publish-all", "--privileged"),
    *("-q", "--quiet", "--read-only", "--rm", "-t", "--tty"),
)
_INTERACTIVE: Final = re.compile(r"-[a-zA-Z]*i[a-zA-Z]*|--interactive(=true)?")
# Where installers put programs, and hosts that the desktop starts do not look.
_PLACES: Final = (
    "~/.local/bin",
    "~/.cargo/bin",
    "~/.bun/bin",
    "~/.deno/bin",
    "~/.volta/bin",
    "~/.pyenv/shims",
    "~/.asdf/shims",
    "~/.nvm/versions/node/*/bin",
    "~/.npm-global/bin",
    "~/go/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/usr/local/bin",
    "/snap/bin",
)
_COMES_WITH: Final = {
    "npx": "it comes with Node.js",
    "npm": "it comes with Node.js",
    "node": "it is Node.js",
    "uvx": "it comes with uv",
    "uv": "it is a package manager for Python",
    "bunx": "it comes with Bun",
    "docker": "it comes with Docker",
    "pipx": "`python3 -m pip install pipx` brings it",
}
_SHOWN_BYTES: Final = 256


def check_command(start: Start) -> Iterator[Finding]:
    """Yield what is wrong with a command; after an error it need not be started."""
    hopeless = (
        _tilde(start)
        or _shell_syntax(start)
        or _not_found(start)
        or _not_executable(start)
        or _bad_interpreter(start)
        or _no_folder(start)
        or _no_script(start)
        or _docker_without_input(start)
    )
    if hopeless is not None:
        yield hopeless
        return
    yield from _unexpanded(start)
    for soft in (_not_on_host_path(start), _relative(start), _captured(start)):
        if soft is not None:
            yield soft


# --- what a shell would do, and a host does not


def _tilde(start: Start) -> Finding | None:
    if not start.command.startswith("~"):
        return None
    return Finding(
        "tilde-in-command",
        "error",
        "the command begins with `~`, which only a shell replaces by your home folder",
        start.title,
        f"write {os.path.expanduser(start.command)}",
    )


def _shell_syntax(start: Start) -> Finding | None:
    words = start.command.split()
    is_built_in = bool(words) and words[0] in _BUILT_IN
    signs = [part for part in (*words, *start.args) if part in _SHELL_SYNTAX]
    if (not signs and not is_built_in) or start.program_name in _SHELLS or start.program:
        return None
    sign = f"`{signs[0]}`" if signs else f"`{words[0]}`"
    return Finding(
        "shell-syntax",
        "error",
        f"the command has {sign} in it, which is for a shell, and hosts start no shell",
        start.title,
        "name the program itself as `command`, and its arguments as `args`; the folder is `cwd`, "
        "variables are `env`",
    )


def _unexpanded(start: Start) -> Iterator[Finding]:
    if start.program_name in _SHELLS:
        return
    for part in start.args:
        if part.startswith("~/"):
            yield Finding(
                "tilde-in-args",
                "warning",
                "an argument begins with `~`, which only a shell replaces by your home folder",
                part,
                f"write {os.path.expanduser(part)}",
            )
        elif (found := _VARIABLE.search(part)) and (found[1] or found[2]) not in start.given:
            # A server that is given it fills it in itself, as `mcp-remote` does.
            yield Finding(
                "unexpanded-variable",
                "warning",
                f"{found[0]} in an argument reaches the server as it is: hosts start no shell",
                part,
                "write the value in its place; or give the variable in `env`, if the server fills "
                "it in itself",
            )


# --- the program


def _not_found(start: Start) -> Finding | None:
    if start.program is not None:
        return None
    command = start.command
    words = _words(command)
    if len(words) > 1 and not os.path.isdir(start.cwd / command):
        args = [*words[1:], *start.args]
        return Finding(
            "arguments-in-command",
            "error",
            "`command` has the arguments in it, so that no program has that name",
            command,
            f'write "command": "{words[0]}", "args": {_as_json(args)}',
        )
    if os.path.dirname(command):
        path = start.cwd / command
        if path.is_dir():
            what, change = f"the command {path} is a folder", "name the program that is in it"
        else:
            what, change = f"there is no file {path}", _near_file(path)
        return Finding("command-not-found", "error", what, start.title, change)
    return Finding(
        "command-not-found",
        "error",
        f"there is no program {command!r}",
        f"PATH is {start.path}",
        _where_else(command, start),
    )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return command.split()


def _as_json(args: Iterable[str]) -> str:
    import json  # noqa: PLC0415 - only for this

    return json.dumps(list(args), ensure_ascii=False)


def _near_file(path: Path) -> str:
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(path.parent)
    near = difflib.get_close_matches(path.name, names, n=1)
    if near:
        return f"write {path.parent / near[0]}, if that is meant"
    return "write the absolute path of a file that is there"


def _where_else(command: str, start: Start) -> str:
    """Say where a program is that is not on `PATH`, or what may be meant."""
    if command == "python" and (found := shutil.which("python3", path=start.path)):
        return f"here it is called python3: write {found}"
    for pattern in _PLACES:
        place = Path(pattern).expanduser()
        base = Path(place.anchor)
        for folder in sorted(base.glob(str(place.relative_to(base)))):
            found = shutil.which(command, path=str(folder))
            if found is not None:
                return f"write its absolute path: {found}"
    near = difflib.get_close_matches(command, _programs(start.path), n=1, cutoff=0.75)
    if near:
        return f"do you mean {near[0]}? Write {shutil.which(near[0], path=start.path)}"
    about = f" ({_COMES_WITH[command]})" if command in _COMES_WITH else ""
    return f"install {command}{about}, and write its absolute path"


def _programs(path: str) -> set[str]:
    found: set[str] = set()
    for folder in path.split(os.pathsep):
        with suppress(OSError):
            found.update(os.listdir(folder))
    return found


def _not_executable(start: Start) -> Finding | None:
    program = start.program
    if program is None or sys.platform == "win32" or os.access(program, os.X_OK):
        return None
    interpreter = {".py": "python3", ".js": "node", ".mjs": "node", ".sh": "sh"}
    by = interpreter.get(Path(program).suffix)
    change = f"`chmod +x {shlex.quote(program)}`"
    if by is not None:
        found = shutil.which(by, path=start.path) or by
        change = f'write "command": "{found}", "args": {_as_json([program, *start.args])}'
    return Finding(
        "not-executable", "error", f"{program} may not be executed", _mode(program), change
    )


def _mode(program: str) -> str:
    import stat  # noqa: PLC0415 - only for this

    try:
        return f"its mode is {stat.filemode(os.stat(program).st_mode)}"
    except OSError as error:
        return str(error)


def _bad_interpreter(start: Start) -> Finding | None:
    """Look at the first line of a program that is a script."""
    assert start.program is not None
    try:
        with open(start.program, "rb") as file:
            head = file.read(_SHOWN_BYTES)
    except OSError:
        return None  # it may be executed, if not read
    if not head.startswith(b"#!"):
        is_text = bool(head) and b"\0" not in head and sys.platform != "win32"
        return _no_first_line(start, head) if is_text else None
    line = head[2:].split(b"\n")[0]
    words = line.decode(errors="replace").split()
    if line.endswith(b"\r"):
        return Finding(
            "bad-interpreter-line",
            "error",
            f"the first line of {start.program} ends as Windows ends lines, and that belongs to "
            "the name of the interpreter here",
            repr(head[: len(line) + 3]),
            "save the file with line feeds alone (`sed -i 's/\\r$//' FILE`)",
        )
    by_env = len(words) > 1 and os.path.basename(words[0]) == "env"
    wanted = (
        next((one for one in words[1:] if one[0] != "-" and "=" not in one), "") if by_env else ""
    )
    name = wanted if by_env else (words or [""])[0]
    is_there = shutil.which(name, path=start.path) is not None if by_env else Path(name).is_file()
    if not is_there:
        return Finding(
            "bad-interpreter-line",
            "error",
            f"the first line of {start.program} names an interpreter that is not there: {name}",
            head.split(b"\n")[0].decode(errors="replace"),
            "install that, correct the line, or name the interpreter as `command` and the file in "
            "`args`",
        )
    return None


def _no_first_line(start: Start, head: bytes) -> Finding:
    return Finding(
        "bad-interpreter-line",
        "error",
        f"{start.program} is a text, and its first line does not say what runs it",
        head.split(b"\n")[0].decode(errors="replace"),
        "name the interpreter as `command` and the file in `args`, or begin the file with "
        "`#!/usr/bin/env python3` or the like",
    )


def _no_folder(start: Start) -> Finding | None:
    if start.cwd.is_dir():
        return None
    return Finding(
        "folder-not-found",
        "error",
        f"the folder to start in is not there: {start.cwd}",
        start.title,
        "correct `cwd`, with an absolute path",
    )


# --- what it is given


def _no_script(start: Start) -> Finding | None:
    path = start.script_path
    if path is None or path.is_file():
        return None
    return Finding(
        "script-not-found",
        "error",
        f"there is no file {path}",
        start.title,
        _near_file(path)
        if os.path.isabs(start.script or "")
        else "write the absolute path of the file: hosts start servers in a folder of theirs",
    )


def _docker_without_input(start: Start) -> Finding | None:
    words = [word for word in start.args if not word.startswith("-")]
    runs = words[:1] == ["run"] or words[:2] == ["container", "run"]  # others have one, too
    if start.program_name not in ("docker", "podman") or not runs:
        return None
    if any(_INTERACTIVE.fullmatch(option) for option in _before_image(start.args)):
        return None
    return Finding(
        "docker-not-interactive",
        "error",
        f"`{start.program_name} run` without `-i` gives the server no standard input",
        start.title,
        f"write `-i` behind `run`: {start.program_name} run -i --rm ...",
    )


def _before_image(args: Sequence[str]) -> Iterator[str]:
    """Yield the options of `docker run`: what stands behind the image is for the server."""
    takes_value = False
    for word in args[args.index("run") + 1 :]:
        if not word.startswith("-") and not takes_value:
            return
        yield word
        takes_value = (
            word.startswith("-")
            and "=" not in word
            and word not in _DOCKER_FLAGS
            and not _INTERACTIVE.fullmatch(word)
        )


def _captured(start: Start) -> Finding | None:
    is_live = "--no-capture-output" in start.args or "--live-stream" in start.args
    if start.program_name not in ("conda", "mamba") or "run" not in start.args or is_live:
        return None
    return Finding(
        "conda-captures-output",
        "error",
        f"`{start.program_name} run` keeps what the server writes until it has ended",
        start.title,
        "write `--no-capture-output` behind `run`, or name the Python of the environment",
    )


# --- what works here, and perhaps not in a host


def _not_on_host_path(start: Start) -> Finding | None:
    program = start.program
    if program is None or os.path.dirname(start.command) or "PATH" in start.given:
        return None
    other = shutil.which(start.command, path=HOST_PATH)
    if other is not None and os.path.samefile(other, program):
        return None
    if other is not None:
        return Finding(
            "other-on-host-path",
            "note",
            f"{start.command!r} is another program to a host that the desktop starts",
            f"here it is {program}, there {other}",
            f"write its absolute path: {program}",
        )
    return Finding(
        "not-on-host-path",
        "note",
        f"{start.command!r} is on the PATH of this terminal, which a host may not have",
        f"here it is {program}; a host that the desktop starts looks in {HOST_PATH}",
        f"write its absolute path: {program}",
    )


def _relative(start: Start) -> Finding | None:
    told = start.script if start.script is not None else start.command
    if os.path.isabs(told) or (start.script is None and not os.path.dirname(told)):
        return None
    return Finding(
        "relative-path",
        "note",
        f"{told} is found from the folder {start.cwd}, and hosts start servers elsewhere",
        start.title,
        f"write {start.cwd / told}",
    )
