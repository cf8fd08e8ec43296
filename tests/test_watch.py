"""Breaks the rules that every test is held to, and sees that it is noticed."""

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests import leaks
from tests.watch import WireWatch

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'
JUNK = b"Server starting..."


def record(payload: Any, direction: str = ">", connection: str = "client-1") -> logging.LogRecord:
    made = logging.LogRecord("wigwag.wire", logging.DEBUG, "", 0, "", (), None)
    made.__dict__.update(connection=connection, direction=direction, payload=payload)
    return made


@pytest.fixture
def watch() -> WireWatch:
    return WireWatch()


# --- messages


def test_sound_messages_are_no_problem(watch: WireWatch) -> None:
    for side, there, back in (("client-1", ">", "<"), ("server-2", "<", ">")):
        watch.filter(record(PING, there, side))
        watch.filter(record(PONG, back, side))
    assert watch.problems() == []
    assert set(watch.conversations) == {"client-1", "server-2"}


@pytest.mark.parametrize(
    ("connection", "direction", "side"),
    [
        ("client-1", ">", "client"),
        ("client-1", "<", "server"),
        ("server-1", ">", "server"),
        ("server-1", "<", "client"),
    ],
)
def test_a_broken_message_is_a_problem_of_who_sent_it(
    watch: WireWatch, connection: str, direction: str, side: str
) -> None:
    watch.filter(record(JUNK, direction, connection))
    (problem,) = watch.problems()
    assert problem.startswith(f"{connection} saw {side}: no JSON")


def test_an_answer_to_nothing_is_a_problem(watch: WireWatch) -> None:
    watch.filter(record(PONG))
    (problem,) = watch.problems()
    assert "answers what was not asked" in problem


def test_each_connection_has_its_own_conversation(watch: WireWatch) -> None:
    watch.filter(record(PING, ">", "client-1"))
    watch.filter(record(PONG, "<", "client-2"))
    (problem,) = watch.problems()
    assert problem.startswith("client-2")


def test_a_side_may_break_the_rules_where_a_test_says_so(watch: WireWatch) -> None:
    watch.filter(record(JUNK, "<"))
    assert watch.problems(broken=["server"]) == []
    assert len(watch.problems(broken=["client"])) == 2
    watch.filter(record(JUNK, ">"))
    (problem,) = watch.problems(broken=["server"])
    assert "saw client" in problem


def test_a_needless_excuse_is_a_problem_itself(watch: WireWatch) -> None:
    watch.filter(record(PING))
    (problem,) = watch.problems(broken=["server"])
    assert "take the mark away" in problem
    assert watch.problems(broken=["server"], must_break=False) == []


def test_single_messages_can_be_excused(watch: WireWatch) -> None:
    watch.expect_invalid("client")
    watch.filter(record(JUNK))
    assert watch.problems() == []
    watch.expect_invalid("client")
    watch.filter(record(PING))
    (problem,) = watch.problems()
    assert "should have been malformed" in problem


def test_extensions_can_be_let_through(watch: WireWatch) -> None:
    call = PING.replace(b"ping", b"example.com/x")
    watch.filter(record(call))
    assert watch.problems()
    watch.begin()
    watch.allow_extensions("example.com/x")
    watch.filter(record(call))
    assert watch.problems() == []


def test_a_new_test_begins_with_nothing(watch: WireWatch) -> None:
    watch.filter(record(JUNK))
    watch.begin()
    assert watch.problems() == []


def test_a_fault_of_the_watch_does_not_hurt_the_library_and_is_not_lost(watch: WireWatch) -> None:
    watch.filter(record(None))
    (problem,) = watch.problems()
    assert "the watch itself failed" in problem


def test_long_messages_are_kept_out_of_reports(watch: WireWatch) -> None:
    assert watch.filter(record(PING))
    assert not watch.filter(record(b'"' + b"x" * 100_000 + b'"'))


# --- what is left behind


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "GRACE", 0.05)


@pytest.mark.anyio
async def test_a_task_that_goes_on_is_noticed() -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(asyncio.Event().wait(), name="forgotten")
    (left,) = await leaks.tasks_left(before)
    assert "forgotten" in left
    task.cancel()
    assert await leaks.tasks_left(before) == []


@pytest.mark.anyio
async def test_a_task_that_ends_in_a_moment_is_not() -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(asyncio.sleep(0.01))
    assert await leaks.tasks_left(before) == []
    assert task.done()


@pytest.mark.skipif(not leaks.descriptors(), reason="the system does not tell")
def test_a_descriptor_that_stays_open_is_noticed() -> None:
    before = leaks.descriptors()
    forgotten = os.open(os.devnull, os.O_RDONLY)
    (left,) = leaks.descriptors_left(before)
    assert left == f"{forgotten} -> {os.devnull}"
    os.close(forgotten)
    assert leaks.descriptors_left(before) == []


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


def test_a_thread_that_goes_on_is_noticed_unless_it_is_a_worker(gate: threading.Event) -> None:
    before = leaks.threads()
    for name in ("forgotten", "wigwag-worker-7"):
        threading.Thread(target=gate.wait, name=name, daemon=True).start()
    (left,) = leaks.threads_left(before)
    assert "forgotten" in left
    gate.set()
    assert leaks.threads_left(before) == []
