"""What a client tells of what it has put right."""

import asyncio
import logging

import pytest

from wigwag.client.events import ClientEvent, Events
from wigwag.errors import ConnectionClosed, SessionLost

pytestmark = pytest.mark.anyio

GONE = ConnectionClosed("the server is gone")


def test_an_event_is_told_with_all_that_is_known_of_it() -> None:
    told: list[ClientEvent] = []
    events = Events("the server `x`", told.append)
    events.tell("request_resent", GONE, method="tools/list", attempt=2)
    events.tell("listen_reopened", None)
    assert told == [
        ClientEvent(
            kind="request_resent",
            server="the server `x`",
            reason=GONE,
            method="tools/list",
            attempt=2,
        ),
        ClientEvent(kind="listen_reopened", server="the server `x`"),
    ]


def test_the_kind_of_a_new_connection_depends_on_the_old_one() -> None:
    told: list[ClientEvent] = []
    events = Events("s", told.append)
    lost = SessionLost("forgotten")
    events.tell_reopened(GONE, is_process=True)
    events.tell_reopened(GONE, is_process=False)
    events.tell_reopened(lost, is_process=False)
    assert [(event.kind, event.reason) for event in told] == [
        ("server_restarted", GONE),
        ("reconnected", GONE),
        ("session_reopened", lost),
    ]


async def test_whoever_is_told_may_be_async_and_may_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def note(event: ClientEvent) -> None:
        await told.put(event.kind)

    def fail(event: ClientEvent) -> None:
        raise ValueError("broken callback")

    Events("s", note).tell("reconnected", GONE)
    async with asyncio.timeout(30):
        assert await told.get() == "reconnected"
    Events("s", fail).tell("reconnected", GONE)
    assert "ValueError: broken callback" in caplog.text


def test_the_log_has_each_event_in_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wigwag.client")
    events = Events("the server `x`")
    events.tell("server_restarted", GONE)
    events.tell("request_resent", GONE, method="tools/list", attempt=2)
    events.tell("stream_resumed", None)
    assert caplog.messages == [
        "the server `x`: started the server anew: the server is gone",
        "the server `x`: asked again (tools/list), attempt 2: the server is gone",
        "the server `x`: went on with a stream that was cut",
    ]
