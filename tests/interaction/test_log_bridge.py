"""What a program logs, sent to the client whose request it serves."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.interaction.connecting import serving_http, text_of
from wigwag import Client, Context, Server
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, LoggingMessageNotificationParams
from wigwag.server.log_bridge import LogBridge

pytestmark = pytest.mark.anyio

NAME = "kites.catalogue"
logger = logging.getLogger(NAME)


class Heard(list[tuple[str, Any, Any]]):
    def __call__(self, params: LoggingMessageNotificationParams) -> None:
        self.append((params.level, params.data, params.logger or None))


@pytest.fixture(autouse=True)
def levels() -> Iterator[None]:
    names = ("", "kites", NAME)
    before = {name: logging.getLogger(name).level for name in names}
    yield
    for name, level in before.items():
        assert not any(isinstance(each, LogBridge) for each in logging.getLogger(name).handlers)
        logging.getLogger(name).setLevel(level)


def serving(**options: Any) -> Server:
    server = Server("kites")
    server.middleware.append(LogBridge(**options))

    @server.tool
    async def look(ctx: Context) -> str:
        logger.debug("wings")
        logger.info("looking for %r", "kite")
        logger.warning("found", extra={"count": 3, "where": complex(1, 2)})
        logger.critical("gone")
        logging.getLogger("wigwag.server").error("of its own")
        logging.getLogger("other").error("of others")
        return "looked"

    @server.tool
    def look_in_thread() -> str:
        logger.info("looking in a thread")
        return "looked"

    @server.tool
    async def look_later() -> str:
        async def later() -> None:
            logger.info("looking in a task")

        await asyncio.create_task(later())
        return "looked"

    @server.tool
    async def fail() -> str:
        try:
            raise ValueError("secret")
        except ValueError:
            logger.exception("failed")
        return "failed"

    return server


EXPECTED = [
    ("info", "looking for 'kite'", NAME),
    ("warning", {"message": "found", "count": 3, "where": "(1+2j)"}, NAME),
    ("critical", "gone", NAME),
]


async def test_records_are_sent_by_level_with_the_name_of_their_logger(revision: str) -> None:
    heard = Heard()
    async with Client(serving(logger="kites"), mode=revision, on_log=heard) as client:
        await client.set_logging_level("debug")
        assert await text_of(client, "look") == "looked"
        assert heard == EXPECTED
        heard.clear()
        await client.set_logging_level("error")
        await text_of(client, "look")
        assert heard == EXPECTED[-1:]


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_over_http_each_client_gets_its_own(revision: str) -> None:
    first, second = Heard(), Heard()
    async with serving_http(serving(logger="kites")) as origin:
        target = f"{origin}/mcp"
        async with (
            Client(target, mode=revision, on_log=first) as one,
            Client(target, mode=revision, on_log=second) as two,
        ):
            for client in (one, two):
                await client.set_logging_level("debug")
            await asyncio.gather(text_of(one, "look"), text_of(two, "look_in_thread"))
    assert first == EXPECTED
    assert second == [("info", "looking in a thread", NAME)]


@pytest.mark.parametrize(
    ("tool", "text"),
    [("look_in_thread", "looking in a thread"), ("look_later", "looking in a task")],
)
async def test_threads_and_tasks_of_a_handler_belong_to_its_request(
    revision: str, tool: str, text: str
) -> None:
    heard = Heard()
    async with Client(serving(logger="kites"), mode=revision, on_log=heard) as client:
        await client.set_logging_level("info")
        await text_of(client, tool)
    assert heard == [("info", text, NAME)]


async def test_all_loggers_can_be_sent_but_never_those_of_wigwag() -> None:
    heard = Heard()
    async with Client(serving(level="DEBUG"), mode=LATEST_LEGACY, on_log=heard) as client:
        await text_of(client, "look")
    names = [name for *_, name in heard]
    assert names.count(NAME) == 4
    assert names.count("other") == 1
    assert not any(name.startswith("wigwag") for name in names)


async def test_tracebacks_are_kept_unless_a_formatter_adds_them() -> None:
    heard = Heard()
    async with Client(serving(logger="kites"), mode=LATEST_LEGACY, on_log=heard) as client:
        await text_of(client, "fail")
    assert heard == [("error", "failed", NAME)]
    heard.clear()
    formatter = logging.Formatter("%(levelname)s: %(message)s")
    server = serving(logger="kites", formatter=formatter)
    async with Client(server, mode=LATEST_LEGACY, on_log=heard) as client:
        await text_of(client, "fail")
    [(level, data, name)] = heard
    assert (level, name) == ("error", NAME)
    assert data.startswith("ERROR: failed\nTraceback")
    assert data.endswith("ValueError: secret")


async def test_what_is_logged_while_no_request_is_served_goes_nowhere() -> None:
    heard = Heard()
    async with Client(serving(logger="kites"), mode=LATEST_LEGACY, on_log=heard) as client:
        logger.error("between requests")
        await text_of(client, "look_in_thread")
        logger.error("between requests")
        await text_of(client, "look_in_thread")
    assert [data for _, data, _ in heard] == ["looking in a thread"] * 2


async def test_a_server_within_a_server_sends_to_its_own_client() -> None:
    inner, outer = serving(logger="kites"), serving(logger="kites")
    inside, outside = Heard(), Heard()

    @outer.tool
    async def delegate() -> str:
        async with Client(inner, mode=LATEST_LEGACY, on_log=inside) as client:
            await text_of(client, "look_in_thread")
        logger.info("delegated")
        return "done"

    async with Client(outer, mode=LATEST_LEGACY, on_log=outside) as client:
        await text_of(client, "delegate")
    assert [data for _, data, _ in inside] == ["looking in a thread"]
    assert [data for _, data, _ in outside] == ["delegated"]


async def test_a_record_that_cannot_be_sent_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # Other handlers, such as those of pytest, may well fail of these.
    monkeypatch.setattr(logging.getLogger("kites"), "propagate", False)
    heard = Heard()
    server = serving(logger="kites")

    @server.tool
    async def blunder() -> str:
        logger.info("%d things", "three")
        logger.info("half \ud800")
        logger.info("more", extra={"half": "\ud800"})
        return "blundered"

    async with Client(server, mode=LATEST_LEGACY, on_log=heard) as client:
        assert await text_of(client, "blunder") == "blundered"
    assert heard == [("info", "half ?", NAME)]


async def test_warnings_reach_the_terminal_as_they_do_without_a_bridge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("kites"), "propagate", False)  # so it is alone
    heard = Heard()
    async with Client(serving(logger="kites"), mode=LATEST_LEGACY, on_log=heard) as client:
        await text_of(client, "look")
    assert heard == EXPECTED
    assert capsys.readouterr().err == "found\ngone\n"
