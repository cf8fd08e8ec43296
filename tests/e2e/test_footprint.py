"""What a stdio server loads: nothing that it does not use.

The modules are those of a fresh interpreter; what a coverage tool adds to it is left out.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import Launch
from tests.e2e.host import PATIENCE, TOOLS, modern_call, modern_request, text_of
from wigwag.cli.commands import _COMMANDS

# With all that is in them.
NOT_FOR_A_STDIO_SERVER = (
    "aiohttp",
    "anyio",
    "click",
    "cryptography",
    "email",
    "http",
    "httptools",
    "httpx",
    "joserfc",
    "jsonschema_rs",
    "opentelemetry",
    "pydantic",
    "redis",
    "rich",
    "starlette",
    "urllib.request",
    "uvicorn",
    "uvloop",
    "wigwag.cli",
    "wigwag.client",
    "wigwag.gateway",
    "wigwag.oauth",
    "wigwag.protocol.client",
    "wigwag.runtime.client_connection",
    "wigwag.stores",
    "wigwag.transports.memory",
    "wigwag.transports.sockets",
    "wigwag.transports.stdio_client",
    "xml",
)
NOT_FOR_A_CLIENT = ("wigwag.server", "wigwag.protocol.server", "wigwag.runtime.server_connection")

NOT_WITHOUT_AUTHORIZATION = (
    "cryptography",
    "filelock",
    "joserfc",
    "keyring",
    "platformdirs",
    "webbrowser",
    "wigwag.client.authorization",
    "wigwag.oauth",
    "wigwag.stores.file_tokens",
    "wigwag.transports.document_fetching",
)


def loaded_by(program: str) -> set[str]:
    """Return the modules that are loaded after a program has run in a fresh interpreter."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}\nprint(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
        env=environment,
    )
    return set(done.stdout.split())


def among(modules: set[str], unwanted: tuple[str, ...]) -> list[str]:
    return sorted(
        module
        for module in modules
        if any(module == name or module.startswith(f"{name}.") for name in unwanted)
    )


def test_importing_wigwag_loads_neither_server_nor_client() -> None:
    loaded = loaded_by("import wigwag")
    assert {module for module in loaded if module.partition(".")[0] == "wigwag"} == {
        "wigwag",
        "wigwag._version",
    }


def test_the_server_class_loads_nothing_of_http_of_the_client_or_of_an_extra() -> None:
    loaded = loaded_by("import wigwag; wigwag.Server")
    assert "wigwag.server.server" in loaded
    assert among(loaded, NOT_FOR_A_STDIO_SERVER) == []


def test_the_server_class_loads_no_types_of_what_few_servers_have() -> None:
    loaded = loaded_by("import wigwag; wigwag.Server")
    assert "wigwag.schema.tools" in loaded
    few = ("completion", "elicitation", "prompts", "resources", "roots", "sampling", "tasks")
    assert among(loaded, tuple(f"wigwag.schema.{name}" for name in few)) == []


def test_the_types_are_told_without_loading_them() -> None:
    told = loaded_by("""
from wigwag import schema
assert "Prompt" in dir(schema) and "Prompt" in schema.__all__
assert not hasattr(schema, "Prompts")
""")
    assert among(told, ("wigwag.schema.prompts",)) == []


def test_the_client_class_does_not_load_the_server() -> None:
    loaded = loaded_by("import wigwag; wigwag.Client")
    assert "wigwag.client.client" in loaded
    assert among(loaded, NOT_FOR_A_CLIENT) == []


def test_a_client_without_authorization_loads_nothing_of_it() -> None:
    loaded = loaded_by("""
import asyncio
from wigwag import Client, ClientGroup, ServerUnreachable

async def main():
    ClientGroup({"one": "http://127.0.0.1:1/mcp"})
    try:
        await Client("http://127.0.0.1:1/mcp").connect()
    except ServerUnreachable:
        pass

asyncio.run(main())
""")
    assert "wigwag.transports.http_client_peer" in loaded
    assert among(loaded, NOT_WITHOUT_AUTHORIZATION) == []


def test_the_command_line_loads_the_commands_that_are_used_and_no_more() -> None:
    heavy = ("aiohttp", "asyncio", "msgspec", "prompt_toolkit", "rich", "ssl", "uvicorn")
    for words in (["--help"], ["--version"], ["completion", "zsh"]):
        loaded = loaded_by(f"""
sys.argv = {["wigwag", *words]}
import contextlib, io
from wigwag.cli import main

with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
""")
        assert among(loaded, ("wigwag.server", "wigwag.client", *heavy)) == [], words
        commands = {"completion"} if words[0] == "completion" else set()
        assert {name for name in _COMMANDS if f"wigwag.cli.{name}" in loaded} == commands


def test_the_command_that_serves_over_stdio_loads_no_more_than_the_server_needs(
    launch: Launch, tmp_path: Path
) -> None:
    program = tmp_path / "server.py"
    program.write_text("""
import sys
from wigwag import Server

server = Server("small")

@server.tool
def modules() -> list[str]:
    return sorted(sys.modules)
""")
    env = {name: "" for name in os.environ if name.startswith("COVERAGE")}
    host = launch("-m", "wigwag", "run", program, env=env)
    loaded = set(json.loads(text_of(host.ask(modern_call(1, "modules")))))
    allowed = ("click", "wigwag.cli", "http", "email", "xml")
    unwanted = tuple(name for name in NOT_FOR_A_STDIO_SERVER if name not in allowed)
    assert among(loaded, unwanted) == []


def test_the_server_class_adds_no_tls_to_what_asyncio_loads() -> None:
    # Where asyncio itself has loaded it, that says nothing.
    loaded = loaded_by("""
class NoTls:
    def find_spec(name, *args):
        if name in ("ssl", "_ssl"):
            raise ImportError(f"{name} is not wanted here")

sys.meta_path.insert(0, NoTls)
import wigwag
wigwag.Server
""")
    assert "wigwag.server.server" in loaded
    assert among(loaded, ("ssl", "_ssl")) == []


def test_a_stdio_server_that_has_served_has_loaded_no_more(launch: Launch) -> None:
    # Its own program loads argparse and the like; what matters is what serving adds.
    host = launch(TOOLS, env={name: "" for name in os.environ if name.startswith("COVERAGE")})
    host.ask(modern_request(1, "server/discover"))
    host.ask(modern_request(2, "tools/list"))
    host.ask(modern_call(3, "fail", text="logs a traceback"))
    loaded = set(json.loads(text_of(host.ask(modern_call(4, "modules")))))
    assert "wigwag.transports.stdio_server" in loaded
    assert among(loaded, NOT_FOR_A_STDIO_SERVER) == []
