"""`wigwag trace` between a client and a server that are both other people's."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, conversation, services
from wigwag.tracing.conversation import Conversation, Entry
from wigwag.tracing.records import JunkRecord, MessageRecord, Recording, read_recording

TEST_SECONDS: Final = 60
TAP: Final = [sys.executable, "-I", "-S", str(catalogue.HERE / "byte_tap.py")]
TRACE: Final = [sys.executable, "-m", "wigwag", "trace"]
KITEBASE: Final = str(catalogue.HERE.parents[1] / "examples" / "kitebase" / "server.py")

# Characters that some take for the end of a line, and one of four bytes.
MESSAGE: Final = "zwei \u2028 \x85 Zeilen 🪁 " * 3000

VISITS: Final = {
    "server-everything": (
        catalogue.published("server-everything"),
        ("echo", {"message": MESSAGE}, f"Echo: {MESSAGE}"),
    ),
    "kitebase": (
        [sys.executable, KITEBASE],
        ("get_ticket", {"ticket_id": "KITE-142"}, "Customer locked out after SSO change"),
    ),
    "kitebase, noisy": (
        [sys.executable, KITEBASE, "--noisy"],
        ("get_ticket", {"ticket_id": "KITE-142"}, "Customer locked out after SSO change"),
    ),
}


def visit(tool: str, arguments: dict[str, Any], *target: str) -> str:
    """Lets the official SDK look at a server, and call a tool; returns what that has returned."""
    program = str(catalogue.PEERS / "mcp1_visit.py")
    done = subprocess.run(
        [catalogue.python_of("mcp1"), program, tool, json.dumps(arguments), *target],
        check=True,
        capture_output=True,
        timeout=TEST_SECONDS,
    )
    [text] = json.loads(done.stdout)
    return str(text)


def entries_of(recording: Recording) -> list[Entry]:
    """Every message of a recording."""
    following = Conversation()
    return [
        entry
        for record in recording.records
        if isinstance(record, MessageRecord)
        for entry in following.follow(record)
    ]


def pairs_of(entries: list[Entry]) -> list[str]:
    """The methods of the requests of the client that were answered."""
    return [
        each.method
        for each in entries
        if each.kind == "result" and each.request is not None and each.sender == "server"
    ]


@pytest.mark.parametrize("name", list(VISITS))
def test_in_front_of_a_command_no_byte_changes(name: str, tmp_path: Path) -> None:
    server, (tool, arguments, expected) = VISITS[name]
    before, behind, out = tmp_path / "before", tmp_path / "behind", tmp_path / "trace.jsonl"
    text = visit(
        tool,
        arguments,
        *(*TAP, str(before), "--"),
        *(*TRACE, "--out", str(out), "--"),
        *(*TAP, str(behind), "--"),
        *server,
    )
    assert expected in text
    for side in ("client", "server"):
        passed = (before / side).read_bytes()
        assert passed == (behind / side).read_bytes()
        assert len(passed) > 300
    recording = read_recording(out)
    assert recording.is_complete
    assert pairs_of(entries_of(recording)) == [
        *("initialize", "tools/list", "resources/list", "prompts/list", "tools/call")
    ]
    # What was recorded is what has passed.
    said = b"".join(
        bytes(each.message) + b"\n"
        if isinstance(each, MessageRecord)
        else each.text.encode() + b"\n"
        for each in recording.records
        if isinstance(each, MessageRecord | JunkRecord) and each.sender == "server"
    )
    assert said == (before / "server").read_bytes()


@pytest.mark.parametrize(("mode", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
def test_in_front_of_a_url_nothing_changes_but_the_name_of_the_server(
    mode: str, path: str, tmp_path: Path
) -> None:
    before, behind, out = tmp_path / "before", tmp_path / "behind", tmp_path / "trace.jsonl"
    [port] = services.free_ports(1)
    everything = catalogue.published("server-everything", mode)
    with (
        services.running(everything, {"PORT": str(port)}, announces=rf"on port {port}"),
        services.tapped(behind, f"http://127.0.0.1:{port}{path}") as tapped,
        services.running(
            [*TRACE, tapped, "--port", "0", "--out", str(out)], announces=r"http://\S+(?= instead)"
        ) as (relay, relayed),
        services.tapped(before, relayed) as url,
    ):
        text = visit("echo", {"message": MESSAGE}, url)
        assert relay.end() == 0
    assert text == f"Echo: {MESSAGE}"
    assert said(before) == said(behind)
    assert heads(before) == heads(behind)
    recording = read_recording(out)
    assert recording.is_complete
    assert pairs_of(entries_of(recording)) == [
        *("initialize", "tools/list", "resources/list", "prompts/list", "tools/call")
    ]


def said(folder: Path) -> list[Any]:
    """What the wiretap saw of messages, by their senders."""
    [records] = conversation.read(folder)
    return [
        [each.message for each in records if each.sender == sender]
        for sender in ("client", "server")
    ]


def heads(folder: Path) -> list[Any]:
    """What the wiretap saw of heads, without what names the server, in the order of requests."""
    seen = [
        (each.method, each.target, each.status, sorted(each.request.items() - own(each.request)))
        for each in conversation.read_exchanges(folder)
    ]
    return sorted(seen, key=repr)


def own(headers: dict[str, str]) -> set[tuple[str, str]]:
    """What names the server."""
    return {(name, value) for name, value in headers.items() if re.fullmatch("host", name)}
