"""How a stdio server ends: as soon as its host is gone, or it is told to."""

import os
import signal
from typing import Any

import pytest

from tests.e2e.conftest import Launch
from tests.e2e.host import (
    SOON,
    TOOLS,
    Host,
    Message,
    cpu_seconds,
    legacy_request,
    modern_call,
    text_of,
)

LONG = 120.0


def begin_call(host: Host, tool: str, **arguments: Any) -> Message:
    """Call a tool that takes long, and wait until it has begun."""
    call = modern_call("long", tool, **arguments)
    host.send(call)
    host.wait_for_stderr(f"{tool} begins")
    return call


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_end_of_the_input_ends_an_idle_server(launch: Launch, era: str) -> None:
    host = launch(TOOLS)
    if era == "legacy":
        host.shake_hands()
        host.ask(legacy_request(1, "ping"))
    else:
        host.ask(modern_call(1, "echo", text="hello"))
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert host.rest() == []
    assert host.stderr == ""


def test_the_end_of_the_input_ends_a_server_that_was_never_asked_anything(launch: Launch) -> None:
    host = launch(TOOLS)
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert host.stderr == ""


@pytest.mark.parametrize(
    "tool", ["block", "wait", "wait_for_thread", "block_event_loop", "refuse_to_stop"]
)
def test_the_end_of_the_input_ends_a_server_in_the_middle_of_a_tool(
    launch: Launch, tool: str
) -> None:
    host = launch(TOOLS)
    begin_call(host, tool, seconds=LONG)
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert "Traceback" not in host.stderr


def test_the_end_of_the_input_ends_a_server_whose_tool_blocks_only_later(launch: Launch) -> None:
    host = launch(TOOLS)
    host.send(modern_call(1, "block_event_loop", seconds=LONG, after=0.3))
    host.ask(modern_call(2, "echo", text="the call before has been read"))
    host.close_input()
    assert host.exit_code(within=SOON) == 0


def test_a_tool_can_clean_up_when_the_input_ends(launch: Launch) -> None:
    host = launch(TOOLS)
    begin_call(host, "wait", seconds=LONG)
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert "wait was cancelled" in host.stderr


def test_what_was_asked_just_before_the_end_of_the_input_is_answered(launch: Launch) -> None:
    host = launch(TOOLS)
    host.send(*(modern_call(number, "echo", text=f"text {number}") for number in range(100)))
    host.close_input()
    answers = {message["id"]: text_of(message) for message in host.rest()}
    assert answers == {number: f"text {number}" for number in range(100)}
    assert host.exit_code(within=SOON) == 0


def test_a_server_leaves_when_nobody_reads_its_output(launch: Launch) -> None:
    host = launch(TOOLS)
    host.ask(modern_call(1, "echo", text="hello"))
    host.close_output()
    assert host.exit_code(within=SOON) == 0
    assert "Traceback" not in host.stderr


def test_a_server_leaves_when_nobody_reads_its_answer(launch: Launch) -> None:
    host = launch(TOOLS)
    begin_call(host, "block", seconds=0.5)
    host.send(*(modern_call(number, "echo", text="x" * 100_000) for number in range(30)))
    host.close_output()
    assert host.exit_code(within=SOON) == 0
    assert "Traceback" not in host.stderr


def test_a_server_leaves_when_its_host_is_gone_altogether(launch: Launch) -> None:
    host = launch(TOOLS)
    begin_call(host, "block", seconds=LONG)
    host.close_output()
    host.close_input()
    assert host.exit_code(within=SOON) == 0


@pytest.mark.parametrize(
    ("number", "tool"),
    [
        (signal.SIGTERM, None),
        (signal.SIGTERM, "block"),
        (signal.SIGTERM, "wait"),
        (signal.SIGTERM, "wait_for_thread"),
        (signal.SIGTERM, "block_event_loop"),
        (signal.SIGINT, None),
        (signal.SIGINT, "block_event_loop"),
    ],
)
def test_a_signal_ends_a_server_whatever_it_does(
    launch: Launch, number: signal.Signals, tool: str | None
) -> None:
    code = 130 if number == signal.SIGINT else 0
    host = launch(TOOLS)
    host.ask(modern_call(1, "echo", text="up and running"))
    if tool is not None:
        begin_call(host, tool, seconds=LONG)
    host.process.send_signal(number)
    assert host.exit_code(within=SOON) == code
    assert "Traceback" not in host.stderr


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_a_signal_ends_a_server_that_is_still_starting(
    launch: Launch, number: signal.Signals, code: int
) -> None:
    host = launch(TOOLS, "--slow-to-start", str(LONG))
    host.wait_for_stderr("starting")
    host.process.send_signal(number)
    assert host.exit_code(within=SOON) == code
    assert "Traceback" not in host.stderr


def test_a_second_interrupt_ends_a_server_that_is_slow_to_stop(launch: Launch) -> None:
    host = launch(TOOLS, "--slow-to-stop", str(LONG))
    host.ask(modern_call(1, "echo", text="up and running"))
    host.process.send_signal(signal.SIGINT)
    host.wait_for_stderr("stopping")
    assert host.process.poll() is None
    host.process.send_signal(signal.SIGINT)
    assert host.exit_code(within=SOON) == 130
    assert "Traceback" not in host.stderr


def test_the_lifespan_of_a_server_ends_in_order_when_the_input_does(launch: Launch) -> None:
    host = launch(TOOLS, "--slow-to-stop", "0.01")
    host.ask(modern_call(1, "echo", text="up and running"))
    host.close_input()
    assert host.exit_code(within=SOON) == 0
    assert "stopping" in host.stderr


def test_a_server_that_has_lost_its_reader_does_not_spin(launch: Launch) -> None:
    host = launch(TOOLS, "--slow-to-stop", "1.5")
    host.ask(modern_call(1, "echo", text="up and running"))
    host.close_output()
    host.wait_for_stderr("stopping")
    before = os.times().children_user + os.times().children_system
    spent = cpu_seconds(host.process.pid)
    assert host.exit_code() == 0
    total = os.times().children_user + os.times().children_system - before
    assert total - spent < 0.8  # spinning would take all of the time
