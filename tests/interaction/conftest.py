from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from tests.interaction.connecting import WAYS, Way, connected
from wigwag import Client
from wigwag.schema import REVISIONS


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    """Each transport, and each revision over it."""
    chosen: Way = request.param
    return chosen


@pytest.fixture
def connect(way: Way) -> Callable[..., AbstractAsyncContextManager[Client]]:
    """Connects clients to the bazaar, with the options they are given."""
    return partial(connected, way)


@pytest.fixture
async def client(way: Way) -> AsyncIterator[Client]:
    """A client of the bazaar."""
    async with connected(way) as client:
        yield client


@pytest.fixture(params=REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    """Each revision, for what does not depend on what carries it."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def log_text(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """What has been logged so far, but for the messages on the wire."""

    def text() -> str:
        records = [record for record in caplog.records if record.name != "wigwag.wire"]
        return "\n".join(caplog.handler.format(record) for record in records)

    return text


@pytest.fixture
async def local_client(revision: str) -> AsyncIterator[Client]:
    """A client of the bazaar in this process."""
    async with connected(Way("memory", revision)) as client:
        yield client
