"""What is put right, and when another try is worth it."""

import asyncio

import pytest

from wigwag.client.healing import Healing, Pauses, may_pass, retry_after, was_not_carried_out
from wigwag.errors import (
    ConnectionClosed,
    ConnectionRefused,
    HostNotFound,
    HttpStatusError,
    McpError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
    ServerStartFailed,
    ServerUnreachable,
    SessionLost,
    TLSFailed,
    TransportError,
)

PARTS = ("session", "restart", "resume", "resend", "listen")


def refused(status: int, **headers: str) -> HttpStatusError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpStatusError("http://a/mcp", status, "No", "", named)


# --- what is wanted


def test_everything_heals_unless_it_is_turned_off() -> None:
    assert Healing.__struct_fields__ == PARTS
    for heal in (True, False):
        found = Healing.of(heal)
        assert [getattr(found, part) for part in PARTS] == [heal] * len(PARTS)
    some = Healing(session=False, listen=False)
    assert Healing.of(some) == some


@pytest.mark.parametrize("heal", [True, False])
@pytest.mark.parametrize("restart", [True, False])
def test_restart_is_overridden_and_nothing_else(
    heal: bool,  # noqa: FBT001
    restart: bool,  # noqa: FBT001
) -> None:
    found = Healing.of(heal, restart=restart)
    assert {part: getattr(found, part) for part in PARTS} == {
        **dict.fromkeys(PARTS, heal),
        "restart": restart,
    }


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="`heal` is True, False or a Healing, not 'yes'"):
        Healing.of("yes")  # type: ignore[arg-type]


# --- failures


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionClosed("gone"), True),
        (SessionLost("forgotten"), True),
        (ConnectionRefused("nobody"), True),
        (ServerUnreachable("no route"), True),
        (HostNotFound("who?"), False),
        (TLSFailed("no trust"), False),
        (ServerStartFailed("no"), False),
        (TransportError("no aiohttp"), False),
        (refused(502), True),
        (refused(503), True),
        (refused(504), True),
        (refused(500), False),
        (refused(401), False),
        (RequestFailed(-32603, "broken"), False),
        (RequestTimedOut("ping", 1.0, "1 s"), False),
        (RemoteProtocolError("broken"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, McpError) else str(value),
)
def test_only_some_failures_may_pass(error: McpError, expected: bool) -> None:  # noqa: FBT001
    assert may_pass(error) is expected


def test_what_was_never_sent_or_was_refused_for_its_session_was_not_carried_out() -> None:
    assert was_not_carried_out(ConnectionRefused("nobody"))
    assert was_not_carried_out(SessionLost("forgotten", was_refused=True))
    assert not was_not_carried_out(SessionLost("forgotten"))
    assert not was_not_carried_out(ConnectionClosed("cut"))
    assert not was_not_carried_out(refused(503))


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0", 0.0), ("soon", 0.0), ("-3", 0.0), ("٣", 0.0)]
)
def test_a_server_says_in_seconds_when_to_ask_again(value: str, seconds: float) -> None:
    assert retry_after(refused(503, retry_after=value)) == seconds


def test_most_failures_do_not_say_when_to_ask_again() -> None:
    assert retry_after(refused(503)) == 0.0
    assert retry_after(ConnectionClosed("gone")) == 0.0


# --- pauses


@pytest.mark.anyio
async def test_a_pause_lasts_as_long_as_it_is_to() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await Pauses().wait(0.05)
    assert loop.time() - began >= 0.049


@pytest.mark.anyio
async def test_a_pause_ends_early_when_all_are_to_end() -> None:
    pauses = Pauses()
    waiting = [asyncio.create_task(pauses.wait(3600)) for _ in range(3)]
    given_up = asyncio.create_task(pauses.wait(3600))
    await asyncio.sleep(0)
    given_up.cancel()
    pauses.end()
    async with asyncio.timeout(30):
        await asyncio.gather(*waiting)
        with pytest.raises(asyncio.CancelledError):
            await given_up
    pauses.end()


@pytest.mark.anyio
async def test_no_pause_is_none() -> None:
    waiting = asyncio.create_task(Pauses().wait(0.0))
    await asyncio.sleep(0)
    assert waiting.done()
