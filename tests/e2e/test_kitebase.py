"""Kitebase, the example, as a newcomer runs it."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import launching
from tests.e2e.host import PATIENCE, SOON, Host, Message, modern_request, text_of
from tests.wire import Conversation

KITEBASE = Path(__file__).parents[2] / "examples" / "kitebase"
MAIN, SERVER = KITEBASE / "main.py", KITEBASE / "server.py"

ABOUT_US = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "kitebase-demo-client", "version": "0.1.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Run(NamedTuple):
    """What a run of `main.py` has printed."""

    code: int
    stdout: str
    stderr: str
    messages: list[tuple[str, Message]]
    """Each message with the line above it."""
    remarks: list[str]
    """The lines that are no part of a message."""

    def sent(self) -> list[Message]:
        return [message for direction, message in self.messages if direction == "client -> server"]

    def received(self) -> list[Message]:
        return [message for direction, message in self.messages if direction == "server -> client"]


@cache  # what is shown once is looked at by several tests
def run(*args: str, cwd: Path | None = None, **env: str) -> Run:
    """Run the example, from any folder, and take its output apart."""
    done = subprocess.run(
        [sys.executable, str(MAIN), *args],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=cwd,
        env={**os.environ, **env},
        check=False,
    )
    messages: list[tuple[str, Message]] = []
    remarks: list[str] = []
    for block in done.stdout.split("\n\n"):
        direction, _, text = block.partition("\n")
        if direction in ("client -> server", "server -> client"):
            messages.append((direction, json.loads(text)))
        else:
            remarks += block.splitlines()
    return Run(done.returncode, done.stdout, done.stderr, messages, remarks)


def judge(messages: list[tuple[str, Message]]) -> list[str]:
    """Return what is wrong with a conversation by the facts about the published schemas."""
    conversation = Conversation()
    for direction, message in messages:
        conversation.saw(
            "client" if direction == "client -> server" else "server", json.dumps(message).encode()
        )
    return conversation.problems + conversation.unanswered


def directions(messages: list[tuple[str, Message]]) -> list[str]:
    return [direction for direction, _ in messages]


# --- the modern conversation


def test_it_shows_a_modern_conversation_from_discovery_to_the_end(tmp_path: Path) -> None:
    shown = run(cwd=tmp_path)
    assert shown.code == 0
    assert directions(shown.messages) == ["client -> server", "server -> client"] * 3
    assert [(m["id"], m["method"]) for m in shown.sent()] == [
        (1, "server/discover"),
        (2, "tools/list"),
        (3, "tools/call"),
    ]
    assert [message["id"] for message in shown.received()] == [1, 2, 3]
    assert shown.remarks == ["closed stdin, server exited with code 0"]
    assert judge(shown.messages) == []


def test_each_modern_request_says_the_same_three_things_about_the_client() -> None:
    shown = run()
    assert [message["params"]["_meta"] for message in shown.sent()] == [ABOUT_US] * 3


def test_it_shows_the_server_its_tools_and_the_ticket() -> None:
    discovery, tools, ticket = (message["result"] for message in run().received())
    assert discovery["supportedVersions"] == ["2026-07-28"]
    assert {"tools", "resources", "prompts", "completions"} <= discovery["capabilities"].keys()
    assert [tool["name"] for tool in tools["tools"]] == ["search_help", "get_ticket"]
    assert ticket["structuredContent"]["id"] == "KITE-142"
    assert ticket["structuredContent"]["title"] == "Customer locked out after SSO change"
    for result in (discovery, tools, ticket):
        info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert (info["name"], info["version"]) == ("kitebase", "1.0.0")


def test_the_log_of_the_server_is_on_the_terminal_and_not_in_the_protocol() -> None:
    shown = run()
    assert shown.stderr == "get_ticket called with 'KITE-142'\n"
    assert "get_ticket called" not in shown.stdout


def test_an_unknown_ticket_is_a_success_of_the_protocol_and_a_failure_of_the_tool() -> None:
    shown = run("KITE-999")
    assert shown.code == 0
    answer = shown.received()[-1]
    assert "error" not in answer
    assert answer["result"]["isError"] is True
    assert "KITE-999" in text_of(answer)
    assert "KITE-142" in text_of(answer)  # what the model could have meant
    assert shown.remarks == ["closed stdin, server exited with code 0"]


# --- its options


def test_legacy_shows_a_handshake_and_then_requests_without_meta() -> None:
    shown = run("--legacy")
    assert shown.code == 0
    assert [(m.get("id"), m["method"]) for m in shown.sent()] == [
        (1, "initialize"),
        (None, "notifications/initialized"),
        (2, "tools/list"),
        (3, "tools/call"),
    ]
    hello = shown.sent()[0]["params"]
    assert hello["protocolVersion"] == "2025-11-25"
    assert hello["clientInfo"] == {"name": "kitebase-demo-client", "version": "0.1.0"}
    assert shown.received()[0]["result"]["protocolVersion"] == "2025-11-25"
    assert "_meta" not in shown.stdout
    assert "Customer locked out after SSO change" in text_of(shown.received()[-1])
    assert shown.remarks == ["closed stdin, server exited with code 0"]
    assert judge(shown.messages) == []


def test_noisy_shows_how_a_print_breaks_the_connection() -> None:
    shown = run("--noisy")
    assert shown.code == 1
    assert shown.remarks == [
        "Connection broken: server wrote something that isn't JSON-RPC to stdout: "
        "'Kitebase server starting...'"
    ]
    assert shown.received() == []
    assert "Traceback" not in shown.stderr


def test_a_version_that_nobody_speaks_is_refused_with_those_that_are_supported() -> None:
    shown = run("--version", "2099-01-01")
    assert shown.code == 0
    assert [message["id"] for message in shown.received()] == [1, 2, 3]
    for message in shown.received():
        assert message["error"]["code"] == -32022
        assert message["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
    assert shown.remarks == ["closed stdin, server exited with code 0"]


def test_legacy_and_version_together_choose_an_older_handshake() -> None:
    shown = run("--legacy", "--version", "2024-11-05")
    assert shown.received()[0]["result"]["protocolVersion"] == "2024-11-05"
    assert judge(shown.messages) == []


def test_sdk_does_the_same_with_wigwags_client() -> None:
    shown = run("--sdk")
    assert shown.code == 0
    version, tools, is_error, result = shown.stdout.splitlines()
    assert version == "negotiated protocol version: 2026-07-28"
    assert tools == "tools: ['search_help', 'get_ticket']"
    assert is_error == "is_error: False"
    ticket: Any = ast.literal_eval(result.removeprefix("result: "))
    assert ticket["title"] == "Customer locked out after SSO change"
    assert shown.stderr == "get_ticket called with 'KITE-142'\n"


def test_sdk_shows_what_a_failed_tool_says() -> None:
    shown = run("--sdk", "KITE-999")
    assert shown.code == 0
    assert "is_error: True\n" in shown.stdout
    assert "There is no ticket 'KITE-999'" in shown.stdout


def test_sdk_negotiates_the_legacy_era_when_told_to() -> None:
    assert "negotiated protocol version: 2025-11-25\n" in run("--sdk", "--legacy").stdout


def test_sdk_survives_a_noisy_server_and_says_what_it_skipped() -> None:
    shown = run("--sdk", "--noisy")
    assert shown.code == 0
    assert "is_error: False\n" in shown.stdout
    assert "Kitebase server starting..." in shown.stderr
    assert "must print to standard error" in shown.stderr


# --- what a newcomer does


@pytest.mark.parametrize("args", [["--nosuch"], ["--version"], ["KITE-142", "KITE-143"]])
def test_a_command_line_it_does_not_understand_gets_a_hint(args: list[str]) -> None:
    shown = run(*args)
    assert shown.code == 2
    assert shown.stderr.startswith("usage: ")
    assert "Traceback" not in shown.stderr


def test_sdk_with_a_version_that_nobody_speaks_names_those_there_are() -> None:
    shown = run("--sdk", "--version", "2099-01-01")
    assert shown.code == 1
    assert "2026-07-28" in shown.stdout
    assert "Traceback" not in shown.stderr


def test_a_ticket_in_lower_case_or_with_other_characters_does_no_harm() -> None:
    assert run("kite-142").received()[-1]["result"]["structuredContent"]["id"] == "KITE-142"
    shown = run("Ü✓", PYTHONIOENCODING="ascii")
    assert shown.code == 0
    assert "Ü✓" in text_of(shown.received()[-1])


def test_a_server_that_does_not_start_is_told_from_one_that_hangs(tmp_path: Path) -> None:
    for file in KITEBASE.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "server.py").write_text("import sys; sys.exit('no configuration')")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "main.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1
    assert "Connection broken: server exited with code 1" in done.stdout
    assert done.stderr == "no configuration\n"


def test_without_wigwag_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(MAIN)],  # none of what is installed
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    assert "make demo" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_it_and_the_server_without_a_traceback(tmp_path: Path) -> None:
    for file in KITEBASE.glob("*.py"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    # A server that never answers, as a newcomer's own may be.
    (tmp_path / "server.py").write_text("import sys; sys.stdin.read()")
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "main.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()  # it has begun
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=SOON)
    assert process.returncode == 130
    assert b"main.py" not in stderr


def test_the_hand_written_client_needs_nothing_but_the_standard_library() -> None:
    """A tutorial that hides nothing imports nothing that hides it."""
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.parse(MAIN.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)


# --- the server


@pytest.fixture(scope="module")
def kitebase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with launching(tmp_path_factory.mktemp("kitebase")) as launch:
        yield launch(SERVER)


def ask(host: Host, method: str, **params: Any) -> Any:
    return host.ask(modern_request(method, method, params))


def test_help_can_be_searched_listed_and_read(kitebase: Host) -> None:
    call = {"name": "search_help", "arguments": {"query": "redirect loop"}}
    hits = ask(kitebase, "tools/call", **call)["result"]["structuredContent"]
    read = ask(kitebase, "resources/read", uri=hits[0]["uri"])["result"]
    assert read["contents"][0]["mimeType"] == "text/markdown"
    assert "redirect loop" in read["contents"][0]["text"]
    (index,) = ask(kitebase, "resources/list")["result"]["resources"]
    text = ask(kitebase, "resources/read", uri=index["uri"])["result"]["contents"][0]["text"]
    addresses = re.findall(r"\((kitebase://[^)]+)\)", text)
    assert hits[0]["uri"] in addresses
    for uri in addresses:
        assert ask(kitebase, "resources/read", uri=uri)["result"]["contents"]


def test_an_unknown_article_is_an_error_that_names_it(kitebase: Host) -> None:
    error = ask(kitebase, "resources/read", uri="kitebase://articles/nope")["error"]
    assert error["code"] == -32602
    assert "nope" in error["message"]


def test_a_ticket_can_be_triaged_and_its_id_completed(kitebase: Host) -> None:
    (message,) = ask(kitebase, "prompts/get", name="triage", arguments={"ticket_id": "KITE-142"})[
        "result"
    ]["messages"]
    assert "KITE-142" in message["content"]["text"]
    completion = ask(
        kitebase,
        "completion/complete",
        ref={"type": "ref/prompt", "name": "triage"},
        argument={"name": "ticket_id", "value": "kite-14"},
    )["result"]["completion"]
    assert completion["values"] == ["KITE-142", "KITE-143"]


def test_the_slug_of_an_article_is_completed(kitebase: Host) -> None:
    completion = ask(
        kitebase,
        "completion/complete",
        ref={"type": "ref/resource", "uri": "kitebase://articles/{slug}"},
        argument={"name": "slug", "value": "sso"},
    )["result"]["completion"]
    assert completion["values"] == ["sso-redirect-loop"]
