"""What every test is held to: sound messages on the wire, and nothing left behind."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from tests import leaks
from tests.watch import SIDES, WIRE, WireWatch


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "broken_messages(*sides, sometimes=False): in this test these sides (both, if none is "
        "named) break the rules of the wire on purpose; or sometimes, where the peer is not ours",
    )


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Wigwag runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def wire_watch() -> Iterator[WireWatch]:
    """Listen to the wire log as long as tests run."""
    watch = WireWatch()
    WIRE.addFilter(watch)
    WIRE.setLevel(logging.DEBUG)
    yield watch
    WIRE.removeFilter(watch)
    WIRE.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def wire(wire_watch: WireWatch, request: pytest.FixtureRequest) -> Iterator[WireWatch]:
    """Judge every message of the test, except where it says that they are broken on purpose."""
    wire_watch.begin()
    yield wire_watch
    mark = request.node.get_closest_marker("broken_messages")
    broken = () if mark is None else mark.args or SIDES
    must_break = mark is not None and not mark.kwargs.get("sometimes", False)
    problems = wire_watch.problems(broken=broken, must_break=must_break)
    if problems:
        pytest.fail("\n".join(["messages break the rules:", *problems]), pytrace=False)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """See to it that the test leaves no descriptor and no thread behind."""
    descriptors, threads = leaks.descriptors(), leaks.threads()
    yield
    left = leaks.threads_left(threads) + leaks.descriptors_left(descriptors)
    if left:
        pytest.fail("\n".join(["the test leaves behind:", *left]), pytrace=False)


@pytest.fixture(autouse=True)
def no_task_is_left(nothing_is_left: None, request: pytest.FixtureRequest) -> None:
    """See to it that the test leaves no task behind, if it has an event loop."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("no_task_is_left_on_the_loop")


@pytest.fixture
async def no_task_is_left_on_the_loop(nothing_is_left: None) -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    left = await leaks.tasks_left(before)
    if left:
        pytest.fail("\n".join(["the test leaves behind:", *left]), pytrace=False)
