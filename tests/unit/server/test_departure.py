"""The end of a process that is to leave."""

import asyncio
import subprocess
import sys
import threading

import pytest

from wigwag.server.departure import LEAVE_TIMEOUT, MIN_LEAVE_TIMEOUT, STUCK_TIMEOUT, Departure


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "wigwag-departure"]


def leave(code: str) -> tuple[int, str]:
    """Run code in a process of its own, and return its exit status and standard error."""
    head = (
        "import asyncio, threading, time\n"
        "from wigwag.server.departure import Departure\n"
        "departure = Departure()\n"
        "departure.exit_code = 7\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, timeout=30, check=False
    )
    return ended.returncode, ended.stderr.decode()


def test_a_departure_that_has_not_begun_watches_nothing() -> None:
    departure = Departure()
    assert departure.exit_code == 0
    assert watchers() == []
    departure.call_off()
    assert watchers() == []


def test_who_has_served_and_is_called_off_lives_on() -> None:
    departure = Departure()
    departure.has_served()
    (watcher,) = watchers()
    departure.call_off()
    watcher.join(5)
    assert not watcher.is_alive()


def test_a_departure_begins_once() -> None:
    loop = asyncio.new_event_loop()
    departure = Departure()
    departure.attach(loop)
    loop.close()  # and who has closed the event loop is not stuck in it
    departure.begin()
    departure.begin()
    (watcher,) = watchers()
    assert watcher.daemon
    departure.has_served()
    assert watchers() == [watcher]
    departure.call_off()
    watcher.join(5)
    assert not watcher.is_alive()


def test_the_times_add_up() -> None:
    assert 0 < MIN_LEAVE_TIMEOUT < STUCK_TIMEOUT < LEAVE_TIMEOUT <= 2  # a host's own patience


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (
            "loop = asyncio.new_event_loop()\n"
            "departure.attach(loop)\n"
            "departure.begin()\n"
            "loop.call_soon(threading.Event().wait)\n"
            "loop.run_forever()\n",
            "a handler blocks the event loop",
        ),
        (
            "departure.has_served()\nthreading.Event().wait()\n",
            "a handler or a thread goes on",
        ),
    ],
)
def test_who_does_not_leave_is_made_to_and_it_is_said_why(code: str, why: str) -> None:
    assert leave(code) == (7, f"wigwag: told to leave, but {why}: leaving anyway\n")


def test_who_leaves_in_time_leaves_as_usual() -> None:
    assert leave("departure.has_served()\nraise SystemExit(3)\n") == (3, "")
