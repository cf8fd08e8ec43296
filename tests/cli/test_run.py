"""`wigwag run`."""

import os
import re
import signal
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import trustme

from tests.cli.program import KITEBASE, wigwag, wigwag_at_terminal
from tests.e2e.conftest import Launch, launching
from tests.e2e.host import (
    SOON,
    Host,
    Message,
    is_running,
    legacy_request,
    modern_call,
    modern_request,
    text_of,
    wait_until,
)
from tests.e2e.person import CTRL_D
from wigwag import connect_sync, run_server
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.run import run_command

SERVER = """\
import logging, os, subprocess, sys
print("loading", flush=True)
subprocess.run(["echo", "from a child"])
from wigwag import Server

kite = Server("kite")

@kite.tool
def where() -> str:
    logging.getLogger("kite").info("asked")
    return f"{os.getpid()} {' '.join(sys.argv[1:])}"

@kite.tool
def version() -> int:
    return 1
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    with launching(tmp_path) as launch:
        yield launch


def run(launch: Launch, *arguments: str | Path) -> Host:
    return launch("-m", "wigwag", "run", *arguments)


def url_of(host: Host) -> str:
    host.wait_for_stderr(" listens on ")
    found = re.search(r" listens on (\S+)\n", host.stderr)
    assert found is not None
    return found[1]


def children(host: Host) -> list[int]:
    pid = host.process.pid
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in text.split()]


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="children are looked up in /proc"
)


# --- over stdio


def test_nothing_that_is_printed_while_the_code_is_loaded_gets_into_the_protocol(
    launch: Launch, server: Path
) -> None:
    host = run(launch, server, "--log", "info", "--wire")
    assert text_of(host.ask(modern_call(1, "version"))) == "1"
    host.ask(modern_call(2, "where"))
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert "loading\nfrom a child\n" in host.stderr
    assert "INFO kite: asked" in host.stderr
    assert '"method":"tools/call"' in host.stderr


def test_a_server_gets_the_arguments_that_are_its_own(launch: Launch, server: Path) -> None:
    server.write_text(SERVER.replace('Server("kite")', "Server(' '.join(sys.argv[1:]))"))
    host = run(launch, server, "--", "--database", "x")
    about = host.ask(modern_call(1, "version"))["result"]["_meta"]
    assert about["io.modelcontextprotocol/serverInfo"]["name"] == "--database x"


def test_a_person_is_told_how_a_host_starts_it() -> None:
    with wigwag_at_terminal("run", os.path.relpath(KITEBASE)) as person:
        person.see(f"{sys.executable} -m wigwag run {KITEBASE}")
        person.see("Ctrl+D ends it")
        person.type(CTRL_D)
        assert person.exit_code() == ExitCode.DONE


def test_code_that_fails_is_told_with_file_and_line_and_nothing_of_ours(server: Path) -> None:
    server.write_text(SERVER + "kite.nonsense()\n")
    ran = wigwag("run", server)
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.out == ""
    assert "AttributeError: 'Server' object has no attribute 'nonsense'" in ran.err
    assert f'File "{server}", line {len(SERVER.splitlines()) + 1}' in ran.err
    assert "Traceback" not in ran.err
    assert "wigwag/server" not in ran.err


def test_a_lifespan_that_fails_is_told_in_the_same_way(server: Path) -> None:
    server.write_text("""\
from contextlib import asynccontextmanager
from wigwag import Server

@asynccontextmanager
async def life(server):
    raise OSError("no database")
    yield

kite = Server("kite", lifespan=life)
""")
    ran = wigwag("run", server)
    assert ran.code == ExitCode.NOT_CONNECTED
    assert "cannot serve: OSError: no database" in ran.err
    assert f'File "{server}", line 6, in life' in ran.err
    assert "wigwag/server" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("x.py", "--port", "9000"), "--port is for --http"),
        (("x.py", "--no-sessions"), "--no-sessions is for --http"),
        (("x.py", "--socket", "s", "--reload"), "--reload is for --http"),
        (("x.py", "--http", "--tcp", "localhost:1"), "exclude each other"),
        (("x.py", "--tcp", "localhost"), "--tcp takes HOST:PORT"),
    ],
)
def test_options_that_make_no_sense_are_told(arguments: tuple[str, ...], what: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        run_command.main(list(arguments), standalone_mode=False)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("servre.py",), "there is no file servre.py; did you mean server.py?"),
        (("server.py", "--http", "--workers", "2", "--path", "x"), "begins with a slash"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    server: Path, arguments: tuple[str, ...], what: str
) -> None:
    ran = wigwag("run", *arguments, cwd=server.parent)
    assert ran.code == ExitCode.USAGE
    assert what in ran.err.splitlines()[-1]


def listen(number: int) -> Message:
    return modern_request(
        number, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    )


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_host_stays_connected_while_code_that_has_changed_is_loaded_again(
    launch: Launch, server: Path, era: str
) -> None:
    def version(number: int) -> Message:
        if era == "modern":
            return host.ask(modern_call(number, "version"))
        params = {"name": "version", "arguments": {}}
        return host.ask(legacy_request(number, "tools/call", params))

    host = run(launch, server, "--reload")
    if era == "modern":
        host.send(listen(1))
        assert host.receive()["method"] == "notifications/subscriptions/acknowledged"
    else:
        host.shake_hands()
    assert text_of(version(2)) == "1"

    server.write_text(SERVER.replace("return 1", "return 2"))
    told = host.receive()
    assert told["method"] == "notifications/tools/list_changed"
    assert text_of(version(3)) == "2"

    server.write_text(SERVER + "kite.nonsense()\n")
    host.wait_for_stderr("waiting for a change of the code")
    assert "has no attribute 'nonsense'" in host.stderr
    assert "its standard error says more" in version(4)["error"]["message"]

    server.write_text(SERVER.replace("return 1", "return 3"))
    assert host.receive()["method"] == "notifications/tools/list_changed"
    assert text_of(version(5)) == "3"
    host.close_input()
    assert host.exit_code(within=SOON) == 0


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"transport": "http", "workers": 2, "reload": True}, "1 together with `reload`"),
        ({"transport": "http", "workers": 2, "sessions": True}, "one of the workers only"),
        ({"transport": "http", "reload": True, "stores": object()}, "to other processes"),
        ({"transport": "tcp", "reload": True}, "`workers` and `reload` are not for tcp"),
        ({"watch": ["data"]}, "`watch` is for `reload`"),
        ({"transport": "http", "keyfile": "key.pem"}, "`certfile` is missing"),
        ({"transport": "unix"}, "a unix socket needs a path"),
        ({"transport": "carrier pigeon"}, "there is no transport 'carrier pigeon'"),
    ],
)
def test_options_that_exclude_each_other_are_told_before_anything_is_loaded(
    options: dict[str, Any], what: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(what)):
        run_server("nothing.py", **options)


# --- over sockets and HTTP


def test_it_serves_at_a_unix_socket(launch: Launch, server: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    host = run(launch, server, "--socket", path)
    host.wait_for_stderr("kite listens on ")
    with connect_sync(f"unix:{path}") as client:
        assert client.call_tool("version").text == "1"


def test_it_serves_over_tls_at_a_path_of_its_own(
    launch: Launch, server: Path, tmp_path: Path
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certfile, keyfile = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.cert_chain_pems[0].write_to_path(certfile)
    certificate.private_key_pem.write_to_path(keyfile)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    host = run(
        launch, server, "--http", "--port", "0", "--path", "/kite",
        "--certfile", certfile, "--keyfile", keyfile,
    )  # fmt: skip
    url = url_of(host)
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+/kite", url)
    with connect_sync(url, ssl=trust) as client:
        assert client.call_tool("version").text == "1"


@needs_proc
def test_workers_serve_side_by_side_and_one_that_dies_is_replaced(
    launch: Launch, server: Path
) -> None:
    host = run(launch, server, "--http", "--port", "0", "--workers", "2", "--", "own")
    url = url_of(host)
    for mode in ("modern", "legacy"):
        with connect_sync(url, mode=mode) as client:
            assert client.call_tool("where").text.endswith(" own")
    wait_until(lambda: len(children(host)) == 2, "two workers")
    killed = children(host)[0]
    os.kill(killed, signal.SIGKILL)
    host.wait_for_stderr("a worker has ended with code -9; another one takes its place")
    wait_until(lambda: len(children(host)) == 2 and killed not in children(host), "another one")
    workers = children(host)
    os.kill(host.process.pid, signal.SIGINT)
    assert host.exit_code(within=SOON) == ExitCode.INTERRUPTED
    assert not any(map(is_running, workers))
    assert "Traceback" not in host.stderr


@needs_proc
def test_workers_do_not_outlive_whoever_has_started_them(launch: Launch, server: Path) -> None:
    host = run(launch, server, "--http", "--port", "0", "--workers", "1", "--reload")
    url_of(host)
    workers = children(host)
    assert len(workers) == 1
    host.process.kill()
    wait_until(lambda: not any(map(is_running, workers)), "the end of the workers")


def test_code_that_changes_is_loaded_again_at_the_same_address(
    launch: Launch, server: Path
) -> None:
    host = run(launch, server, "--http", "--port", "0", "--reload")
    url = url_of(host)
    with connect_sync(url) as client:
        assert client.call_tool("version").text == "1"
        server.write_text(SERVER + "kite.nonsense()\n")
        host.wait_for_stderr("has no attribute 'nonsense'")
        host.wait_for_stderr("waiting for a change of the code")
        server.write_text(SERVER.replace("return 1", "return 2"))
        wait_until(lambda: host.stderr.count("loading again") == 2, "another look")
        assert client.call_tool("version").text == "2"
    os.kill(host.process.pid, signal.SIGTERM)
    assert host.exit_code(within=SOON) == 0


def test_code_that_never_ends_loading_is_loaded_again_once_it_changes(
    launch: Launch, server: Path
) -> None:
    server.write_text("import time\nprint('stuck', flush=True)\ntime.sleep(3600)\n")
    host = run(launch, server, "--http", "--port", "0", "--reload")
    host.wait_for_stderr("stuck")
    server.write_text(SERVER)
    with connect_sync(url_of(host)) as client:
        assert client.call_tool("version").text == "1"
    os.kill(host.process.pid, signal.SIGTERM)
    assert host.exit_code(within=SOON) == 0
    assert "has ended" not in host.stderr
