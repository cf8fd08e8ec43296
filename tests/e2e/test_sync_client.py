"""Scripts with the blocking client: Ctrl+C, and ends that nobody has prepared for."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.host import PATIENCE, SERVERS, TOOLS, is_running, wait_until
from tests.e2e.person import CTRL_C, at_terminal
from tests.interaction.http_process import serving

PEOPLE = SERVERS / "asking_people.py"

INTERRUPTED = """
import json, sys
from wigwag import connect_sync

target = json.loads(sys.argv[1])
def show(log):
    print(f"LOG {log.data}")  # in one write: the server writes to the same terminal

with connect_sync(target, mode=sys.argv[2], on_log=show) as client:
    client.set_logging_level("info")
    for _ in range(2):
        try:
            client.call_tool("wait")
        except KeyboardInterrupt:
            print("INTERRUPTED")
    print("RESULT " + client.call_tool("count").text)
"""

UNCLOSED = """
import sys, threading
from wigwag import connect_sync, SyncClient

client = connect_sync([sys.executable, sys.argv[1]])
print(client.call_tool("process_id").text, flush=True)
"""

ENDS = {
    "the end of the script": "",
    "sys.exit": "sys.exit(0)",
    "a call under way": """
def call():
    try:
        client.call_tool("wait", {"seconds": 600})
    except Exception:
        pass

threading.Thread(target=call, daemon=True).start()
client.call_tool("process_id")
""",
    "a second client": "SyncClient([sys.executable, sys.argv[1]]).connect()",
    "within a listening": """
listening = client.listen(tools=True)
listening.__enter__()
""",
}

BLOCKED = """
import sys, threading
from wigwag import RequestTimedOut, connect_sync

begun = threading.Event()

def ask(form):
    begun.set()
    threading.Event().wait()

client = connect_sync([sys.executable, sys.argv[1]], elicitation=ask)
threading.Thread(target=client.call_tool, args=["order"], daemon=True).start()
begun.wait()
print("ASKED")
"""


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "stdio":
        yield f'["{sys.executable}", "{PEOPLE}"]'
        return
    with serving(PEOPLE) as origin:
        yield f'"{origin}/mcp"'


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_ctrl_c_interrupts_a_call_and_leaves_the_client_usable(target: str, mode: str) -> None:
    with at_terminal(INTERRUPTED, target, mode) as person:
        for _ in range(2):
            person.see("LOG waiting")
            person.type(CTRL_C)
            person.see("INTERRUPTED")
        person.see("RESULT three")
        person.see_the_end()
        assert person.exit_code() == 0
        assert "Traceback" not in person.seen
        if "http" not in target:  # else its standard error is elsewhere
            assert person.seen.count("wait was cancelled") == 2


@pytest.mark.parametrize("end", ENDS)
def test_a_script_that_closes_nothing_ends_with_its_server_and_in_silence(end: str) -> None:
    done = run(UNCLOSED + ENDS[end], str(TOOLS))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr
    pid = int(done.stdout)
    wait_until(lambda: not is_running(pid), "the end of the server")


def test_a_script_ends_while_a_callback_blocks() -> None:
    done = run(BLOCKED, str(PEOPLE))
    assert (done.returncode, done.stdout) == (0, "ASKED\n"), done.stderr
    assert "Fatal" not in done.stderr


def run(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", script, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
