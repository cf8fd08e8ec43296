"""The benchmarks measure what they say: every answer is looked at, and goals are judged rightly.

Nothing is timed here.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from benchmarks import memory_rows
from benchmarks.cli_rows import SAMPLES, command_rows
from benchmarks.http_load import Answer, Expected, WrongAnswer, load
from benchmarks.http_rows import MODES, Mode
from benchmarks.http_server import HttpServer, http_headers, http_request, message, messages_in
from benchmarks.programs import (
    BARE_AIOHTTP,
    BARE_ASGI,
    EMPTY_CLICK,
    HAS_PROC,
    HERE,
    PYTHON,
    ROOT,
    WIGWAG,
    BenchmarkFailed,
    Program,
    present,
)
from benchmarks.table import Goal, Row, heading

JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n"
CHUNKED_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
HELLO = Expected(b"application/json", (b"hello",))
OTHER = Program("other")


# --- one answer


def feed(pieces: list[bytes]) -> tuple[bytes, list[bytes | None]]:
    answer = Answer()
    bodies = [answer.feed(piece) for piece in pieces]
    return answer.head, bodies


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize(
    "response",
    [JSON_HEAD + b"hello", CHUNKED_HEAD + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"],
    ids=["with-a-length", "in-chunks"],
)
def test_an_answer_is_complete_with_its_last_byte_however_it_arrives(
    response: bytes, size: int
) -> None:
    pieces = [response[at : at + size] for at in range(0, len(response), size)]
    _, bodies = feed(pieces)
    assert bodies[:-1] == [None] * (len(pieces) - 1)
    assert bodies[-1] == response.partition(b"\r\n\r\n")[2]


def test_a_stream_without_events_ends_with_its_only_chunk() -> None:
    _, bodies = feed([CHUNKED_HEAD, b"0\r\n\r\n"])
    assert bodies == [None, b"0\r\n\r\n"]


def test_more_than_was_announced_is_a_wrong_answer() -> None:
    with pytest.raises(WrongAnswer, match="more than was announced"):
        Answer().feed(JSON_HEAD + b"hello, world")


def test_an_answer_that_ends_with_the_connection_cannot_be_measured() -> None:
    with pytest.raises(WrongAnswer, match="neither a length nor chunks"):
        Answer().feed(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"http/1.1 404 not found\r\ncontent-type: application/json", b"hello"),
        (b"http/1.1 200 ok\r\ncontent-type: text/event-stream", b"hello"),
        (b"http/1.1 200 ok\r\ncontent-type: application/json", b"goodbye"),
        (b"http/1.1 200 ok\r\ncontent-type: application/json", b'hello "isError":true'),
        (b"http/1.1 200 ok\r\ncontent-type: application/json", b'hello "error":{}'),
    ],
    ids=["status", "media-type", "mark", "failed-call", "error"],
)
def test_an_answer_is_wrong_when_anything_about_it_is(head: bytes, body: bytes) -> None:
    HELLO.check(b"http/1.1 200 ok\r\ncontent-type: application/json", b"hello")
    with pytest.raises(WrongAnswer):
        HELLO.check(head, body)


# --- the load


@asynccontextmanager
async def answering(answer: Callable[[int], bytes]) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Serve HTTP: the answer to the n-th request of a connection is what the function returns."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while request := await reader.read(65536):
            asked.append(request)
            number += 1
            response = answer(number)
            if not response:
                break
            writer.write(response)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], asked


@pytest.mark.anyio
async def test_each_connection_asks_again_when_it_has_its_answer() -> None:
    requests = [b"one", b"two", b"three"]
    probes = iter([1.5, 4.0])
    async with answering(lambda number: JSON_HEAD + b"hello") as (port, asked):
        counted = await load(
            port, requests, HELLO, seconds=0.01, warm_up=0.0, probe=lambda: next(probes)
        )
    assert len(requests) <= counted.calls <= len(asked)
    assert set(asked) == set(requests)
    assert counted.probed == (1.5, 4.0)
    assert counted.seconds > 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("later", "reason"),
    [
        (JSON_HEAD + b"nope!", "wrong answer"),
        (JSON_HEAD.replace(b"200", b"500") + b"hello", "wrong answer"),
        (b"", "closed the connection"),
    ],
    ids=["text", "status", "closed"],
)
async def test_one_wrong_answer_among_right_ones_is_noticed(later: bytes, reason: str) -> None:
    def answer(number: int) -> bytes:
        return later if number == 5 else JSON_HEAD + b"hello"

    async with answering(answer) as (port, _):
        with pytest.raises(WrongAnswer, match=reason):
            await load(port, [b"one"], HELLO, seconds=5.0, warm_up=0.0, probe=lambda: 0.0)


# --- what is sent


def test_a_modern_call_says_in_its_headers_what_it_calls() -> None:
    body = message("2026-07-28", "tools/call", {"name": "echo"}, 7, token="t7")
    assert body["params"]["_meta"]["progressToken"] == "t7"
    headers = http_headers("2026-07-28", body)
    assert headers["MCP-Protocol-Version"] == "2026-07-28"
    assert (headers["Mcp-Method"], headers["Mcp-Name"]) == ("tools/call", "echo")


def test_a_legacy_call_names_its_session_and_no_method() -> None:
    body = message("2025-11-25", "tools/call", {"name": "echo"}, 7)
    assert "_meta" not in body["params"]
    request = http_request(80, "2025-11-25", body, "s1")
    assert b"Mcp-Session-Id: s1\r\n" in request
    assert b"Mcp-Method" not in request


def test_messages_are_found_in_events_and_in_json() -> None:
    assert messages_in("application/json", b'{"id":1}') == [{"id": 1}]
    assert messages_in("application/json", b"") == []
    events = b'id: 1\ndata:\n\nevent: message\ndata: {"id":1}\n\ndata: {"id":2}\n\n'
    assert messages_in("text/event-stream", events) == [{"id": 1}, {"id": 2}]


# --- the programs, as they are run


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("program", [BARE_ASGI, WIGWAG], ids=lambda program: program.name)
def test_a_server_answers_in_every_mode_as_it_is_to(program: Program, mode: Mode) -> None:
    with HttpServer(program, mode.options(program)) as server:
        mode.verify(server)
        (request,) = mode.requests(server, 1)
        asyncio.run(
            load(
                server.port,
                [request],
                mode.expected(),
                seconds=0.01,
                warm_up=0.0,
                probe=server.cpu_seconds,
            )
        )


def test_a_server_of_the_wrong_mode_is_noticed() -> None:
    json_mode, events_mode = MODES[0], MODES[1]
    with HttpServer(WIGWAG) as server:
        wrong = replace(json_mode, tool="none")
        with pytest.raises(BenchmarkFailed, match="wrong answer"):
            wrong.verify(server)
        (request,) = json_mode.requests(server, 1)
        with pytest.raises(WrongAnswer, match="application/json"):
            asyncio.run(
                load(
                    server.port,
                    [request],
                    events_mode.expected(),
                    seconds=5.0,
                    warm_up=0.0,
                    probe=lambda: 0.0,
                )
            )


def test_a_server_that_does_not_start_is_shown_with_what_it_says() -> None:
    broken = Program("broken", http=[PYTHON, "-c", "raise SystemExit('no such luck')"])
    with pytest.raises(BenchmarkFailed, match=r"broken: did not start\nno such luck"):
        HttpServer(broken)


@pytest.mark.parametrize("program", [BARE_AIOHTTP, WIGWAG], ids=lambda program: program.name)
def test_a_client_calls_the_bare_server(program: Program) -> None:
    bare = Program("bare", http=[PYTHON, str(HERE / "handwritten_http_server.py")])
    with HttpServer(bare) as server:
        done = subprocess.run(
            [*program.http_client, f"http://127.0.0.1:{server.port}/mcp", "--secs", "0.01"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    assert '"seq"' in done.stdout
    assert '"conc"' in done.stdout


@pytest.mark.skipif(not HAS_PROC, reason="only Linux tells what memory a process holds")
def test_what_is_open_is_open_while_memory_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "OPEN", 3)
    monkeypatch.setattr(memory_rows, "FIRST", 1)
    # uvloop, which the load runs on, leaves a pipe for its next loop.
    monkeypatch.setattr(memory_rows, "sample", lambda *arguments: (1.0, 1.0))
    rows = list(memory_rows.memory_rows([BARE_ASGI, WIGWAG], 1))
    assert [len(row.samples) for row in rows] == [2, 2, 2]
    with HttpServer(WIGWAG) as server, memory_rows.Crowd(server) as crowd:
        crowd.listen(2)
        crowd.connect(1)
        sockets = list(crowd.sockets)
        assert [each.getpeername()[1] for each in sockets] == [server.port] * 3
    assert [each.fileno() for each in sockets] == [-1] * 3


def test_the_start_of_the_command_line_is_measured_against_an_empty_program() -> None:
    (row,) = command_rows([EMPTY_CLICK, WIGWAG], 1, 0.0)
    assert row.goal == Goal(at_least=False, limit=1.5)
    assert [len(samples) for samples in row.samples.values()] == [SAMPLES, SAMPLES]


def test_a_command_that_fails_is_not_measured() -> None:
    broken = Program("broken", command=[PYTHON, "-c", "import sys; sys.exit('no click')"])
    with pytest.raises(BenchmarkFailed, match="no click"):
        list(command_rows([broken], 1, 0.0))


def test_an_unknown_part_is_refused_with_those_there_are() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "run.py"), "htpp"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "there is no part 'htpp': stdio, http, memory, client, cli" in done.stderr


def test_a_program_that_is_not_installed_is_left_out_and_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    absent = Program("absent", needs=("/nowhere/python",))
    assert present([OTHER, absent]) == [OTHER]
    assert "absent is left out: there is no /nowhere/python" in capsys.readouterr().out


# --- the table


def test_a_ratio_is_taken_in_each_round_so_that_drift_does_not_count() -> None:
    row = Row("calls", "calls/s", Goal(at_least=True, limit=0.75))
    for base, ours in ((100.0, 80.0), (1000.0, 800.0), (10.0, 8.0)):
        row.add(BARE_ASGI, base)
        row.add(WIGWAG, ours)
    assert row.medians() == {"bare ASGI": 100.0, "wigwag": 80.0}
    assert row.ratios() == {"bare ASGI": 1.0, "wigwag": pytest.approx(0.8)}
    assert row.text([BARE_ASGI, WIGWAG]).endswith("80.0  0.80x   goal >= 0.75x: met")


@pytest.mark.parametrize(
    ("goal", "figure", "ratio", "verdict"),
    [
        (Goal(at_least=True, limit=0.75), 1.0, 0.74, "goal >= 0.75x: MISSED"),
        (Goal(at_least=True, limit=0.75), 1.0, 0.75, "goal >= 0.75x: met"),
        (Goal(at_least=False, limit=1.3), 1.0, 1.31, "goal <= 1.3x: MISSED"),
        (Goal(at_least=False, limit=2.0, is_ratio=False), 1.9, 5.0, "goal <= 2: met"),
    ],
)
def test_a_goal_is_judged_by_the_ratio_or_by_the_figure(
    goal: Goal, figure: float, ratio: float, verdict: str
) -> None:
    assert goal.verdict(figure, ratio) == verdict


def failing() -> float:
    raise BenchmarkFailed("it cannot listen\nand logged this")


def test_another_program_that_cannot_do_it_is_left_out_and_the_reason_shown() -> None:
    row = Row("calls", "calls/s")
    for _ in range(2):
        row.take(BARE_ASGI, lambda: 10.0)
        row.take(OTHER, failing)
    assert list(row.samples) == ["bare ASGI"]
    line, note = row.text([BARE_ASGI, OTHER]).splitlines()
    assert line.endswith("-")
    assert note == "    left out: it cannot listen"


@pytest.mark.parametrize("program", [BARE_ASGI, WIGWAG], ids=lambda program: program.name)
def test_without_ours_or_what_it_is_compared_with_there_is_nothing_to_show(
    program: Program,
) -> None:
    row = Row("calls", "calls/s")
    if program is WIGWAG:
        row.add(BARE_ASGI, 10.0)
    with pytest.raises(BenchmarkFailed):
        row.take(program, failing)


def test_the_names_of_the_programs_stand_above_their_figures() -> None:
    row = Row("calls", "calls/s")
    row.add(BARE_ASGI, 10.0)
    row.add(WIGWAG, 9.0)
    programs = [BARE_ASGI, WIGWAG]
    assert len(heading("HTTP", programs)) == len(row.text(programs))
