"""How often and for how long a lost request is tried."""

import asyncio
from typing import Any

import pytest

from wigwag.client.resending import DELAYS, MAX_RETRY_AFTER, MAX_SENDINGS, LostRequest
from wigwag.errors import ConnectionClosed, ConnectionRefused, HttpStatusError, SessionLost
from wigwag.jsonrpc.inflight import OutgoingRequest

pytestmark = pytest.mark.anyio

CUT, REFUSED = ConnectionClosed("cut"), ConnectionRefused("nobody listens there")


def busy(seconds: str = "") -> HttpStatusError:
    headers = {"retry-after": seconds} if seconds else {}
    return HttpStatusError("http://a/mcp", 503, "Busy", "", headers)


def sent(number: int = 1, *, idle: float = 60.0, ceiling: float = 600.0) -> OutgoingRequest:
    now = asyncio.get_running_loop().time()
    return OutgoingRequest(number, "tools/list", now=now, idle_timeout=idle, ceiling=ceiling)


def lost(request: OutgoingRequest | None = None, *, idle: float = 60.0) -> LostRequest:
    more: dict[str, Any] = {"meta": None, "on_progress": None}
    return LostRequest("tools/list", None, idle=idle, ceiling=600.0, sent=request, **more)


async def test_the_first_further_try_is_made_at_once_and_each_other_after_longer() -> None:
    request = lost(sent())
    assert [request.next_delay(REFUSED) for _ in range(len(DELAYS) + 1)] == [*DELAYS, None]
    assert DELAYS[0] == 0.0
    assert list(DELAYS) == sorted(DELAYS)
    assert 4.0 <= sum(DELAYS) <= 5.0


async def test_what_ends_its_connection_each_time_is_sent_three_times() -> None:
    request = lost(sent())
    assert [request.next_delay(CUT) for _ in range(MAX_SENDINGS)] == [0.0, 0.1, None]


async def test_a_server_that_is_started_anew_twice_in_one_call_is_not_to_blame_for_that() -> None:
    request = lost(sent())
    forgotten = SessionLost("forgotten", was_refused=True)
    errors = [CUT, forgotten, CUT, forgotten, CUT]
    assert [request.next_delay(error) for error in errors] == [0.0, 0.0, 0.1, 0.0, None]


async def test_a_new_session_is_no_reason_to_wait() -> None:
    request = lost(sent())
    forgotten = SessionLost("forgotten", was_refused=True)
    errors = [REFUSED, REFUSED, forgotten, REFUSED]
    assert [request.next_delay(error) for error in errors] == [0.0, 0.1, 0.0, 0.2]


async def test_a_server_is_left_alone_for_as_long_as_it_wants_if_that_is_not_long() -> None:
    assert lost(sent()).next_delay(busy("2")) == 2.0
    assert lost(sent()).next_delay(busy(f"{MAX_RETRY_AFTER:.0f}")) == MAX_RETRY_AFTER
    assert lost(sent()).next_delay(busy("11")) is None
    request = lost(sent())
    assert [request.next_delay(busy("0")) for _ in range(2)] == [0.0, 0.1]


async def test_there_is_no_try_behind_the_limit() -> None:
    request = lost(sent(idle=5.0))
    assert request.next_delay(busy("6")) is None
    assert lost(sent(idle=60.0, ceiling=5.0)).next_delay(busy("6")) is None
    assert lost(None, idle=5.0).next_delay(busy("6")) is None


async def test_what_is_sent_again_has_no_more_time_than_it_had() -> None:
    first, second, third = sent(1), sent(2), sent(3)
    first.sent_at, first.ceiling, first.deadline = (first.sent_at - 7, first.ceiling - 7, 1e9)
    limits = (first.sent_at, first.ceiling, first.deadline)
    request = lost(first)
    assert request.next_delay(CUT) is not None
    request.note_sent(second)
    assert (second.sent_at, second.ceiling, second.deadline) == limits
    assert (request.sent, request.sendings) == (second, 2)
    second.deadline = 2e9  # there was a sign of life
    assert request.next_delay(CUT) is not None
    request.note_sent(third)
    assert (third.sent_at, third.ceiling, third.deadline) == (*limits[:2], 2e9)


async def test_what_could_not_be_sent_at_first_is_not_sent_again_by_that() -> None:
    request = lost(None)
    assert request.sendings == 0
    request.note_sent(sent())
    assert request.sendings == 1


async def test_the_time_that_was_waited_counts_from_the_first_sending() -> None:
    first = sent()
    first.sent_at -= 30.0
    error = lost(first, idle=60.0).expired()
    assert error.method == "tools/list"
    assert error.waited >= 30.0
    assert "60 s without a sign of life" in str(error)
