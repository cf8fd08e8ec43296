"""Says why a server that ended before it answered has done so, by its exit code and last words."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from wigwag.doctor.findings import Finding
from wigwag.doctor.process_checks.interpreters import find_with_module, version_of
from wigwag.doctor.process_checks.start import Start

__all__ = ["Ending", "explain_end"]

_LAST_LINES: Final = 12
_EARLIEST_PYTHON: Final = (3, 10)


class Ending(Struct, frozen=True, kw_only=True):
    """How a server process ended before it answered.

    Attributes:
        start: How it was started.
        exit_code: Its exit status, negative for a signal.
        stderr: What it wrote to its standard error.
        seconds: How long it ran.
    """

    start: Start
    exit_code: int
    stderr: str
    seconds: float

    @property
    def last_words(self) -> str:
        """The last lines of its standard error."""
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return "\n".join(lines[-_LAST_LINES:])

    @property
    def manner(self) -> str:
        """How it ended, in words."""
        if self.exit_code >= 0:
            return f"it exited with code {self.exit_code}"
        try:
            return f"it was killed by {signal.Signals(-self.exit_code).name}"
        except ValueError:
            return f"it was killed by signal {-self.exit_code}"

    @property
    def evidence(self) -> str:
        """How it ended, and its last words."""
        words = self.last_words
        manner = f"{self.manner} after {self.seconds:.1f} s"
        return f"{manner}; its last words:\n{words}" if words else f"{manner}, without a word"

    def finding(self, code: str, what: str, change: str) -> Finding:
        """Return an error, with this as the evidence."""
        return Finding(code, "error", what, self.evidence, change)


async def explain_end(ending: Ending) -> Finding:
    """Return why a server ended before it answered, and what to change."""
    hidden = _HIDDEN_PACKAGE.search(ending.stderr)
    if hidden is not None:
        return _hidden_package(ending, hidden)
    module = _missing_module(ending.stderr)
    if module is not None:
        return await _without_module(ending, module)
    for pattern, explain in _KNOWN:
        found = pattern.search(ending.stderr)
        if found is not None:
            return explain(ending, found)
    if ending.exit_code == 0:
        return ending.finding(
            "exits-at-once",
            "the server ends by itself, as if all were done",
            "let it read its standard input until that ends: most SDKs do so in `run()` or "
            "`connect()`, which must be called and awaited",
        )
    usual = "put right what its last words complain of"
    if not ending.last_words:
        usual = (
            f"it does not say why: start it by hand, `{ending.start.title}`, and let it log more"
        )
    return ending.finding(
        "crash-at-start",
        f"the server ends before it answers: {ending.manner}",
        _CODES.get(ending.exit_code, usual),
    )


_CODES: Final = {
    -signal.SIGSEGV: "a library of it crashes: reinstall its native packages for this machine",
    -signal.SIGILL: "it was built for another processor: install what is for this machine",
    -9: "somebody killed it, perhaps the system, for want of memory",
    137: "it was killed, most likely for want of memory: give the container more",
    126: "the program that it starts is not executable: `chmod +x` it",
    127: "a program that it starts is not found: write its absolute path",
    9009: "Windows does not find the program: write its absolute path",
}


# --- modules

_PYTHON_MODULE: Final = re.compile(
    r"ModuleNotFoundError: No module named '([\w.]+)'|: No module named ([\w.]+)\s*$", re.MULTILINE
)
# A file of the same name is found in place of the package: often the server's own.
_HIDDEN_PACKAGE: Final = re.compile(r"No module named '[\w.]+'; '([\w.]+)' is not a package")
_DISTRIBUTIONS: Final = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "googleapiclient": "google-api-python-client",
    "jwt": "pyjwt",
    "PIL": "pillow",
    "psycopg2": "psycopg2-binary",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}


def _missing_module(stderr: str) -> str | None:
    found = _PYTHON_MODULE.search(stderr)
    return None if found is None else found[1] or found[2]


def _hidden_package(ending: Ending, found: re.Match[str]) -> Finding:
    name = found[1]
    return ending.finding(
        "missing-module",
        f"a file {name}.py is found in place of the package {name!r}",
        f"rename that file, most likely the server's own or one beside it ({name}.py), so that "
        "Python finds the package",
    )


async def _without_module(ending: Ending, module: str) -> Finding:
    """Tell whether another Python of the project has the module that this one lacks."""
    start = ending.start
    other = await find_with_module(module, start)
    this = start.program if start.program_name == "python" else None
    runs_in = f"`{this}`" if this else "the Python that it runs in"
    if other is not None:
        return ending.finding(
            "wrong-interpreter",
            f"the server runs in a Python without the module {module!r}, and there is one with it",
            f"set `command` to {other}, which has it"
            + (f", in place of {this}" if this is not None else ""),
        )
    top = module.partition(".")[0]
    name = _DISTRIBUTIONS.get(top, top.replace("_", "-"))
    install = f"{this or 'python'} -m pip install {name}"
    return ending.finding(
        "missing-module",
        f"{runs_in} has no module {module!r}",
        f"install it there (`{install}`), or set `command` to the Python of the environment that "
        "has it",
    )


# --- what else is known by its words

Explain = Callable[[Ending, re.Match[str]], Finding]


def _node_module(ending: Ending, found: re.Match[str]) -> Finding:
    name = found[1]
    if os.path.isabs(name) or name.startswith("."):
        return ending.finding(
            "script-not-found",
            f"Node does not find the file {name}",
            "write the absolute path of the file, and build the server first if it has to be "
            "(`npm run build`)",
        )
    return ending.finding(
        "missing-module",
        f"Node does not find the package {name!r}",
        "run `npm install` in the folder of the server",
    )


def _no_such_script(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "script-not-found",
        f"there is no file {found[1]}",
        "write the absolute path of the server's file: hosts start servers in a folder of theirs",
    )


def _syntax_error(ending: Ending, found: re.Match[str]) -> Finding:
    where = ""
    for place in re.finditer(r'File "([^"]+)", line (\d+)', ending.stderr[: found.start()]):
        where = f" in {place[1]}, line {place[2]}"
    version = version_of(ending.start.program) if ending.start.program_name == "python" else None
    if version is not None and version < _EARLIEST_PYTHON:
        told = ".".join(map(str, version))
        return ending.finding(
            "wrong-interpreter",
            f"Python {told} is too old for this server",
            "set `command` to a newer Python, by its absolute path",
        )
    return ending.finding(
        "crash-at-start",
        f"the server's code is not valid Python{where}: {found[1]}",
        "correct that line, or run it with the Python that it was written for",
    )


def _absent_variable(ending: Ending, found: re.Match[str]) -> Finding:
    name = next(group for group in found.groups() if group)
    if name in ending.start.given:
        change = f"{name} is given in `env`, but not accepted: look at its value"
    elif name in os.environ:
        change = (
            f"{name} is set in this terminal, but hosts do not pass it on: give it in `env`, "
            f'beside `command`: "env": {{"{name}": "..."}}'
        )
    else:
        change = f'give it in `env`, beside `command`: "env": {{"{name}": "..."}}'
    return ending.finding(
        "environment-variable-absent", f"the server wants the environment variable {name}", change
    )


def _absent_argument(ending: Ending, found: re.Match[str]) -> Finding:
    name = next(group for group in found.groups() if group).strip()
    return ending.finding(
        "crash-at-start",
        f"the server wants arguments that it was not given: {name}",
        "give them in `args`, behind what starts the server",
    )


def _built_for_other_node(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "crash-at-start",
        "a native package of the server was built for another version of Node",
        "run `npm rebuild` in the folder of the server with the Node that the host starts, or set "
        "`command` to the Node that it was built with, by its absolute path",
    )


def _absent_setting(ending: Ending, found: re.Match[str]) -> Finding:
    name = found[1].upper()
    return ending.finding(
        "environment-variable-absent",
        f"the server wants a setting that it has not got: {found[1]}",
        f"give it in `env`, beside `command`, most likely as {name}, perhaps with a prefix: "
        "see its documentation",
    )


def _address_in_use(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "port-in-use",
        "the server wants a network port that another program has",
        "end the other program, often an earlier start of the same server, or give it another "
        "port; a stdio server needs none",
    )


def _not_in_registry(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "package-not-found",
        "the package that should be run does not exist under this name, or has no program",
        "correct the name of the package; if it is private, log in to its registry first",
    )


def _offline(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "package-not-fetched",
        "what starts the server cannot fetch it from the network",
        "install the server, and start what is installed; or look at network and proxy settings, "
        "which hosts do not pass on: give HTTPS_PROXY in `env`",
    )


def _no_docker(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "docker-not-running", "Docker does not run, or may not be used", "start Docker"
    )


def _no_terminal(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "wants-a-terminal",
        "the server wants a terminal, and a host has none",
        "leave out what asks for one: `-t` of docker, for example",
    )


def _not_permitted(ending: Ending, found: re.Match[str]) -> Finding:
    return ending.finding(
        "permission-denied",
        f"the server may not do what it wants: {found[0].strip()}",
        "give it a file or folder that it may use, by an absolute path",
    )


# Node has codes of errors that look like variables.
_NAME: Final = r"['\"`]?\$?\{?((?!ERR_|NODE_MODULE_)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?['\"`]?"
_WANTED: Final = (
    r"(?:(?:is|was|are|be|has|have)\s+)?(?:not\s+(?:been\s+)?(?:set|defined|found|provided|"
    r"configured|specified|given)|required|missing|unset|undefined|empty|needed|mandatory)"
)
_WANTING: Final = r"(?:[Mm]issing|[Ss]et|[Pp]rovide|[Rr]equired?s?|environment variable)"

_KNOWN: Final[list[tuple[re.Pattern[str], Explain]]] = [
    (re.compile(r"Cannot find (?:module|package) '([^']+)'"), _node_module),
    (re.compile(r"can't open file '([^']+)'"), _no_such_script),
    (re.compile(r"(?:the following arguments are required:|[Mm]issing argument|[Mm]issing option)"
                r" *(?:'([^'\n]+)'|([^'\n(]+))(?![^\n]*env var)"), _absent_argument),
    (re.compile(r"was compiled against a different Node\.js version"), _built_for_other_node),
    (re.compile(r"^(?:Syntax|Indentation|Tab)Error: (.+)", re.MULTILINE), _syntax_error),
    (re.compile(r"validation errors? for \w*[Ss]ettings\w*\n(\w+)\n\s+Field required"),
     _absent_setting),
    (re.compile(r"(?s:(?:environ|<frozen os>|os\.py).*)KeyError: '(\w+)'"), _absent_variable),
    (re.compile(rf"(?<!\w){_NAME}\b.{{0,40}}?{_WANTED}"), _absent_variable),
    (re.compile(rf"{_WANTING}\b.{{0,60}}?(?<!\w){_NAME}"), _absent_variable),
    (re.compile(r"EADDRINUSE|[Aa]ddress already in use"), _address_in_use),
    (re.compile(r"npm (?:ERR!|error) (?:code )?(?:E?404|could not determine executable)"
                r"|was not found in the package registry|is not in this registry"
                r"|executable (?:named )?.+ is not provided by package"), _not_in_registry),
    (re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED .*registry|[Ff]ailed to fetch"
                r"|error sending request for url|Could not connect, are you offline"), _offline),
    (re.compile(r"[Cc]annot connect to the Docker daemon|docker daemon is not running"
                r"|permission denied while trying to connect to the [Dd]ocker"), _no_docker),
    (re.compile(r"input device is not a TTY|not a (?:tty|terminal)|[Ii]nappropriate ioctl"),
     _no_terminal),
    (re.compile(r"(?:PermissionError|EACCES|[Pp]ermission denied)[^\n]*"), _not_permitted),
]  # fmt: skip
