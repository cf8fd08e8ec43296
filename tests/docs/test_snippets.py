"""Runs every block of code in the pages as a reader would, and holds what is printed to the page.

What the comments above the blocks mean is told in `pages`. A block that nothing here knows how to
run fails.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks_of, borrowed, files_of, is_shown
from tests.docs.proofs import proofs_of
from tests.docs.serving import PATIENCE, Ports, all_running, servers_for
from wigwag import load_configuration

GIVEN: Final = Path(__file__).with_name("given")

BLOCKS: Final = {page: blocks_of(page) for page in PAGES}
FILES: Final = {
    page: files_of([*(block for other in borrowed(page) for block in BLOCKS[other]), *blocks])
    for page, blocks in BLOCKS.items()
}
ALL: Final = [block for blocks in BLOCKS.values() for block in blocks]
SHOWN: Final = ("output", "stderr", "log")
NOT_RUN: Final = (*SHOWN, "drawing")
RUN: Final = [block for block in ALL if block.what not in NOT_RUN]

CLIENT: Final = """\
import asyncio

from wigwag import Client


async def main() -> None:
    async with Client("{target}") as client:
{body}

asyncio.run(main())
"""

# In the JSON for hosts.
PYTHON_OF_READER, FOLDER_OF_READER = "/path/to/python", "/path/to/"


class Reader(NamedTuple):
    """Somebody who works through a page."""

    folder: Path
    """Theirs: the files of the page, the example, and what the tests give."""
    ports: Ports


@pytest.fixture(scope="session")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Reader]:
    """Return the reader of a page."""
    made: dict[Path, Reader] = {}

    def reader_of(page: Path) -> Reader:
        if page not in made:
            reader = made[page] = Reader(tmp_path_factory.mktemp(page.stem), Ports())
            shutil.copytree(GIVEN, reader.folder, dirs_exist_ok=True)
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "examples", reader.folder / "examples", ignore=ignore)
            for name, text in FILES[page].items():
                path = reader.folder / name
                path.write_text(reader.ports.put_into(text), encoding="utf-8")
        return made[page]

    return reader_of


@pytest.mark.parametrize("block", RUN, ids=str)
def test_the_block_does_what_its_page_says(block: Block, readers: Callable[[Path], Reader]) -> None:
    runner = RUNNERS.get((block.language, block.what))
    assert runner is not None, f"{block}: nobody knows how to run {block.language} {block.what}"
    folder, ports = readers(block.page)
    before = BLOCKS[block.page][: BLOCKS[block.page].index(block)]
    serving = [ports.put_into_block(each) for each in servers_for(block, before)]
    with all_running(serving, folder) as log:
        printed = runner(ports.put_into_block(block), folder)
        for shown in shown_below(block):
            expected = ports.put_into(shown.text)
            if shown.what == "log":
                printed = Printed(log.take(expected), "")
            assert printed is not None, f"{block}: nobody knows what it prints"
            check(printed, expected, shown)


def shown_below(block: Block) -> Iterator[Block]:
    """Return the blocks that show what a block prints."""
    blocks = BLOCKS[block.page]
    for following in blocks[blocks.index(block) + 1 :]:
        if following.what not in SHOWN:
            return
        yield following


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_not_run_stands_behind_what_is_or_is_a_drawing(page: Path) -> None:
    shown = [output for block in BLOCKS[page] if block in RUN for output in shown_below(block)]
    for block in BLOCKS[page]:
        if block in RUN:
            continue
        assert block.language in ("text", "json", "nginx"), f"{block}: {block.language} can be run"
        assert block.what == "drawing" or block in shown, f"{block}: the output of what?"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_is_overlooked(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall("```|~~~", text)) == 2 * len(BLOCKS[page])
    comments = sum(block.what != "" for block in BLOCKS[page]) + len(borrowed(page))
    assert text.count("<!--") == comments + len(proofs_of(page))


def test_all_pages_have_been_found() -> None:
    assert {"README.md", "index.md", "writing-a-server.md"} <= {page.name for page in PAGES}
    assert len(RUN) > 50


def test_the_code_is_formatted_and_sound(tmp_path: Path) -> None:
    ruff = shutil.which("ruff", path=os.fspath(Path(sys.executable).parent))
    assert ruff is not None, "it comes with `pip install 'wigwag[test]'`"
    for block in RUN:
        if block.language == "python" and block.what in ("", "client of"):
            name = f"{block.page.stem.replace('-', '_')}_{block.line}.py"
            text = block.text if block.what == "" else wrapped(block)
            (tmp_path / name).write_text(text, encoding="utf-8")
    for page in PAGES:
        for name, text in FILES[page].items():
            if name.endswith(".py"):
                path = tmp_path / f"{page.stem.replace('-', '_')}_{name}"
                path.write_text(text, encoding="utf-8")
    rules = "E,W,F,I,UP,ASYNC,B,C4,N,PERF,PIE,RET,RUF"
    # Sorting needs to know which modules are the page's own.
    own = "lint.isort.known-first-party=['wigwag','server','framed']"
    base = ["--isolated", "--no-cache", "--target-version", "py311", "--line-length", "100"]
    for command in (
        ["check", "--select", rules, *base[:2], "--config", own, *base[2:]],
        ["format", "--check", "--diff", *base],
    ):
        done = subprocess.run([ruff, *command, "."], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# --- running


class Printed(NamedTuple):
    """What a program has printed."""

    stdout: str
    stderr: str


def run(command: list[str], folder: Path, *, may_find_faults: bool = False) -> Printed:
    """Run a program, which must end well, or as the doctor does that has found something."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONIOENCODING": "utf-8",
    }
    environment.pop("CI", None)  # the reader is a person
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    stdout, stderr = (text.decode().replace("\r\n", "\n") for text in (done.stdout, done.stderr))
    assert done.returncode in ((0, 1) if may_find_faults else (0,)), stdout + stderr
    return Printed(stdout, stderr)


def run_program(block: Block, folder: Path) -> Printed:
    text = block.text if block.what == "" else wrapped(block)
    program = folder / f"line_{block.line}.py"
    program.write_text(text, encoding="utf-8")
    return run([sys.executable, "-W", "error", program.name], folder)


def wrapped(block: Block) -> str:
    body = textwrap.indent(block.text, " " * 8)
    return CLIENT.format(target=block.name, body=body)


def load_file(block: Block, folder: Path) -> Printed:
    """See that a file of Python can be loaded; what it does when run, the others show."""
    name = block.name
    text = f"import runpy; runpy.run_path({name!r}, run_name={name.removesuffix('.py')!r})"
    return run([sys.executable, "-W", "error", "-c", text], folder)


def check_lines_of_json(block: Block, folder: Path) -> None:
    for line in block.text.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"


def load_servers(block: Block, folder: Path) -> None:
    """See that a file is a host's configuration, with the comments that JSON does not have."""
    assert load_configuration(folder / block.name)


def start_as_a_host_does(block: Block, folder: Path) -> Printed:
    """Start every server of a host's settings, see that it has tools, and return what they say."""
    servers: dict[str, Any] = json.loads(block.text)["mcpServers"]
    assert servers
    said = Printed("", "")
    for server in servers.values():
        command = [server["command"], *server.get("args", [])]
        assert command[0] == PYTHON_OF_READER
        command = [part.replace(PYTHON_OF_READER, sys.executable) for part in command]
        command = [part.replace(FOLDER_OF_READER, f"{folder.as_posix()}/") for part in command]
        text = CLIENT.replace('Client("{target}")', "Client({target})").format(
            target=f"{command!r}, env={server.get('env')!r}",
            body="        assert (await client.list_tools()).tools",
        )
        printed = run([sys.executable, "-c", text], folder.parent)
        said = Printed(said.stdout + printed.stdout, said.stderr + printed.stderr)
    return said


def run_console(block: Block, folder: Path) -> None:
    """Run the commands behind `$`, and compare what they print."""
    lines = iter(block.text.splitlines())
    commands: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            commands.append((continued(line.removeprefix("$ "), lines), []))
        else:
            assert commands, f"{block}: output before the first command"
            commands[-1][1].append(line)
    for command, expected in commands:
        printed = run_line(command, folder)
        if printed is not None:
            check(printed, "\n".join(expected), block)


def start(block: Block, folder: Path) -> None:
    """Start what goes on running behind later blocks, and see that it says what the page shows."""
    with all_running([block], folder):
        pass


def run_lines(block: Block, folder: Path) -> None:
    """Run each line as a command."""
    lines = iter(block.text.splitlines())
    for line in lines:
        if line.strip() and not line.startswith("#"):
            run_line(continued(line, lines), folder)


def continued(line: str, following: Iterator[str]) -> str:
    while line.endswith("\\"):
        line = line.removesuffix("\\") + next(following)
    return line


def run_line(line: str, folder: Path) -> Printed | None:
    """Run a command; what would change the environment is looked at instead, and prints nothing."""
    words = shlex.split(line, comments=True)
    match words:
        case ["make", target, *arguments]:
            recipe = recipe_of(target)
            if target != "demo":
                return None
            given = " ".join(argument.removeprefix("ARGS=") for argument in arguments)
            line = recipe.replace("$(BIN)/python", "python").replace("$(ARGS)", given)
        case ["pip", "install", *what] | ["python", "-m", "pip", "install", *what]:
            check_installable(what)
            return None
        case ["curl", *_] if shutil.which("curl") is None:
            pytest.skip("there is no curl here")
        case [variable, *following] if variable.startswith("WIGWAG_"):
            assert following[0] in ("python", "wigwag")
        case _:
            assert words[0] in ("python", "wigwag", "cat", "printf", "echo", "curl"), (
                f"nobody knows how to run {line}"
            )
    bash = shutil.which("bash")
    if bash is None or sys.platform == "win32":
        pytest.skip("there is no shell here that understands the page")
    return run([bash, "-c", line], folder, may_find_faults=words[:2] == ["wigwag", "doctor"])


def recipe_of(target: str) -> str:
    """Return the first line of the recipe of a target that a reader may call."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^\.PHONY:.*\b{re.escape(target)}\b", text, re.MULTILINE), target
    rule = re.search(rf"^{re.escape(target)}:.*\n(?:\t(?P<recipe>.*))?", text, re.MULTILINE)
    assert rule is not None, f"the Makefile has no target {target}"
    return rule["recipe"] or ""


def check_installable(what: list[str]) -> None:
    """See that a path with the extras it names is this project, with those extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    paths = [argument for argument in what if argument != "-e"]
    assert paths, what
    for path in paths:
        named = re.fullmatch(r"(?P<path>\.|/path/to/wigwag)(\[(?P<extras>[a-z,]+)\])?", path)
        assert named is not None, f"{path} cannot be installed by a reader"
        for extra in (named["extras"] or "").split(","):
            assert not extra or extra in project["optional-dependencies"]


def check(printed: Printed, expected: str, block: Block) -> None:
    """Compare what was printed with what the page shows, where `...` stands for anything.

    A terminal mixes the two streams as it happens, so a line of standard error may stand anywhere.
    """
    actual = printed.stderr
    if block.what != "stderr":
        aside = printed.stderr.splitlines()
        shown = expected.splitlines()
        expected = "\n".join(
            line
            for line in shown
            if line == "..." or not any(is_shown(said, line) for said in aside)
        )
        actual = printed.stdout
    assert is_shown(actual.rstrip(), expected.rstrip()), f"{block} has\n{actual}\nnot\n{expected}"


RUNNERS: Final[dict[tuple[str, str], Callable[[Block, Path], Printed | None]]] = {
    ("python", ""): run_program,
    ("python", "client of"): run_program,
    ("python", "file"): load_file,
    ("python", "more of"): load_file,
    ("json", ""): start_as_a_host_does,
    ("json", "file"): check_lines_of_json,
    ("jsonc", "file"): load_servers,
    ("console", ""): run_console,
    ("console", "serves"): start,
    ("sh", ""): run_lines,
}
