"""Holds what the pages say in words, names and tables to the sources."""

import ast
import asyncio
import inspect
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.pages import PAGES, ROOT, blocks_of
from wigwag import Limits, Server, errors
from wigwag.cli import exit_codes
from wigwag.cli.commands import _COMMANDS
from wigwag.cli.exit_codes import ExitCode
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.schema import METHODS, MODERN_REVISIONS
from wigwag.transports.contract import Received
from wigwag.transports.memory import memory_pair

SOURCES: Final = ROOT / "src" / "wigwag"
ARCHITECTURE: Final = ROOT / "ARCHITECTURE.md"
ALL_PAGES: Final = (
    *PAGES,
    ARCHITECTURE,
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "examples").rglob("*.md")),
)
DOCS: Final = ROOT / "docs"
PATIENCE: Final = 60.0


def prose_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def table_of(page: Path, heading: str) -> list[list[str]]:
    """Return the rows of the first table under a heading, the first row left out."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    rows = re.findall(r"^\|(.+)\|$", text.partition("\n## ")[0], re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows[2:]]


# --- links


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), f"{page.name} leads to {link}"
        assert not anchor or anchor in anchors_of(target), f"{page.name} leads to {link}"


def test_the_index_has_every_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in DOCS.glob("*.md") if f"({page.name})" not in index] == [
        "index.md"
    ]


# --- architecture


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES.rglob("*.py"):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def names_in_sources() -> set[str]:
    """Return what is defined anywhere: functions, classes, their members, constants."""
    names: set[str] = set()
    for _, module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            if isinstance(node, ast.ClassDef):
                names |= {f"{node.name}.{member}" for member in members_of(node)}
        for node in module.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def members_of(class_: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(class_):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def test_the_architecture_names_what_there_is() -> None:
    known = names_in_sources()
    named = re.findall(r"`([^`]+)`", re.sub(r"\s*\n\s*", " ", prose_of(ARCHITECTURE)))
    files = [name for name in named if re.fullmatch(r"[\w./]+(\.py|\.md|/)", name)]
    functions = [name for name in named if re.fullmatch(r"\w+\(\)", name)]
    classes = [name for name in named if re.fullmatch(r"[A-Z]\w*[a-z]\w*(\.\w+)?", name)]
    assert min(len(files), len(functions), len(classes)) > 10
    assert [
        file for file in files if not any((place / file).exists() for place in (SOURCES, ROOT))
    ] == []
    assert [name for name in functions if name.removesuffix("()") not in known] == []
    assert [name for name in classes if name not in known] == []


def test_the_architecture_is_short_and_has_every_folder() -> None:
    page = ARCHITECTURE.read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 250
    for folder in SOURCES.iterdir():
        if (folder / "__init__.py").exists():
            assert f"`{folder.name}/`" in page


# --- tables


def test_the_table_of_loggers_has_what_is_logged() -> None:
    logged: set[tuple[str, str]] = set()
    for path, module in modules():
        text = path.read_text(encoding="utf-8")
        logger = re.search(r'getLogger\(f?"(?P<name>.+?)"\)', text)
        if logger is None:
            continue
        names = {logger["name"].replace("{side}", side) for side in ("server", "client")}
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                level = node.func.attr
                if ast.unparse(node.func.value) not in ("logger", "_logger"):
                    continue
                if level in ("debug", "info", "warning", "error", "exception"):
                    shown = "ERROR" if level == "exception" else level.upper()
                    logged |= {(name, shown) for name in names}
    rows = re.findall(
        r"^\| `(wigwag\.\w+)` \| `([A-Z]+)` \|",
        (DOCS / "logging.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert set(rows) == logged
    assert len(rows) == len(logged)


def shown_default(value: object) -> str:
    """Return a default as the pages write it: seconds are floats, and many bytes MiB."""
    mebibytes, rest = divmod(value, 1024 * 1024) if isinstance(value, int) else (0, 1)
    if mebibytes and not rest:
        return f"{mebibytes} MiB"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,g} s"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else f'`"{value}"`'


def named_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_the_tables_of_limits_have_all_of_them() -> None:
    rows = [
        *table_of(DOCS / "writing-a-server.md", "Limits"),
        *table_of(DOCS / "serving-over-http.md", "Limits"),
    ]
    assert {name for row in rows for name in named_in(row[0])} == set(Limits.__struct_fields__)
    shown = {(row[0].strip("`"), row[1]) for row in rows if row[1] != "\N{EN DASH}"}
    assert {name for name, _ in shown} == set(Limits.__struct_fields__)
    for name, default in shown:
        assert default == shown_default(getattr(Limits(), name)), name


def test_the_table_of_http_options_has_all_of_them() -> None:
    rows = table_of(DOCS / "serving-over-http.md", "In another application")
    parameters = dict(inspect.signature(Server.http_app).parameters)
    del parameters["self"]
    shown = {
        name: default
        for row in rows
        for name, default in zip(named_in(row[0]), row[1].split(", "), strict=True)
    }
    assert shown.pop("stores") == "in memory"
    assert parameters.pop("stores").default is None
    assert shown == {name: shown_default(each.default) for name, each in parameters.items()}


def test_the_table_of_errors_has_what_a_client_raises() -> None:
    rows = table_of(DOCS / "writing-a-client.md", "Errors")
    named = {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", " ".join(row))}
    bases = {"McpError", "ProtocolError"}
    of_handlers = {"QuestionFailed", "ResourceNotFound", "ToolError"}
    of_verifiers = {"InvalidToken", "VerifierUnavailable"}
    of_loading = {"ServerNotLoaded"}
    others = bases | of_handlers | of_verifiers | of_loading
    assert named == set(errors.__all__) - others


def test_the_table_of_exit_codes_is_that_of_the_command_line() -> None:
    module = ast.parse(Path(exit_codes.__file__).read_text(encoding="utf-8"))
    (body,) = [node.body[1:] for node in module.body if isinstance(node, ast.ClassDef)]
    told = [ast.literal_eval(each.value) for each in body if isinstance(each, ast.Expr)]
    rows = [
        [str(code.value), f"`{code.name.lower()}`", meaning]
        for code, meaning in zip(ExitCode, told, strict=True)
    ]
    assert table_of(DOCS / "command-line.md", "In scripts") == rows


def test_the_table_of_commands_has_them_all() -> None:
    overview = (DOCS / "command-line.md").read_text(encoding="utf-8").partition("\n## ")[0]
    first_cells = re.findall(r"^\| (.+?) \|", overview, re.MULTILINE)
    assert set(_COMMANDS) <= {name for cell in first_cells for name in re.findall("`(.+?)`", cell)}


def method_rows() -> dict[str, list[str]]:
    return {row[0].strip("`"): row for row in table_of(DOCS / "compatibility.md", "Methods")}


def test_the_table_of_methods_is_that_of_the_protocol() -> None:
    expected = {
        method.name: [
            method.sender,
            method.first
            if method.first == method.last
            else f"{method.first} \N{EN DASH} {method.last}",
        ]
        for method in METHODS.values()
    }
    assert {name: row[1:3] for name, row in method_rows().items()} == expected


class Inbox:
    """Receives the messages of a server."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def messages_received(self, messages: Sequence[Received]) -> None:
        for message in messages:
            assert isinstance(message, bytes)
            self.messages.put_nowait(json.loads(message))

    def end_of_input(self) -> None:
        pass

    def connection_lost(self, reason: Exception | None) -> None:
        pass


def server_with_everything() -> Server:
    server = Server("everything")
    server.tool("tool")(lambda: "")
    server.resource("all://things", name="things")(lambda: "")
    server.prompt("prompt")(lambda: "")
    server.completion(lambda reference, argument: [])
    return server


async def is_served(method: str, revision: str) -> bool:
    """Ask a server, without params that mean anything, and tell whether it knows the method."""
    inbox, (ours, theirs) = Inbox(), memory_pair()
    serving = asyncio.ensure_future(server_with_everything().serve(theirs))
    ours.start(inbox)
    meta: dict[str, Any] = {}
    if revision in MODERN_REVISIONS:
        key = "io.modelcontextprotocol/"
        meta = {f"{key}protocolVersion": revision, f"{key}clientCapabilities": {}}
    elif method != "initialize":
        client = {"clientInfo": {"name": "", "version": ""}, "capabilities": {}}
        hello = {"protocolVersion": revision, **client}
        ours.send([encoded({"id": 0, "method": "initialize", "params": hello})])
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    ours.send([encoded({"id": 1, "method": method, "params": params})])
    async with asyncio.timeout(PATIENCE):
        while (message := await inbox.messages.get()).get("id") == 0:
            pass
    await ours.aclose()
    await serving
    code: int = message.get("error", {}).get("code", 0)
    return code != METHOD_NOT_FOUND


def encoded(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.mark.broken_messages("client")
def test_the_server_answers_what_the_table_says() -> None:
    async def ask_all() -> dict[str, bool]:
        asked = [m for m in METHODS.values() if m.kind == "request" and m.sender != "server"]
        return {m.name: await is_served(m.name, m.last) for m in asked}

    served = asyncio.run(ask_all())
    rows = method_rows()
    assert {name: rows[name][3] == "answers" for name in served} == served


# --- the terminal


def test_a_person_at_a_terminal_is_told_what_the_page_shows(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="this system has no terminals of this kind")
    blocks = blocks_of(DOCS / "debugging.md")
    (shown,) = [block.text for block in blocks if block.what == "drawing"]
    (program,) = [block.text for block in blocks if block.name == "server.py"]
    (tmp_path / "server.py").write_text(program, encoding="utf-8")
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "server.py"], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs
    ) as server:
        os.close(theirs)
        printed = b""
        give_up_at = time.monotonic() + PATIENCE
        while b"ends it." not in printed and time.monotonic() < give_up_at:
            printed += os.read(terminal, 65536)
        os.write(terminal, b"\x04")  # Ctrl+D
        assert server.wait(PATIENCE) == 0
    os.close(terminal)
    said = printed.decode().replace("\r\n", "\n")
    said = said.replace(sys.executable, "/path/to/python")
    said = said.replace(os.path.realpath(tmp_path), "/path/to")
    assert said.strip() == shown.strip()
