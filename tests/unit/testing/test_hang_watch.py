import asyncio
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from wigwag.testing.hang_watch import HangWatch, ServerHangs

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGURG"), reason="nothing can be broken off on this system"
)

LIMIT = 0.5
FOREVER = 3600.0


def blocks_in_c() -> None:
    time.sleep(FOREVER)


def blocks_in_python() -> None:
    end = time.monotonic() + FOREVER
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("block", [blocks_in_c, blocks_in_python])
def test_what_blocks_the_loop_is_broken_off_and_named(block: Callable[[], None]) -> None:
    async def main() -> ServerHangs:
        with HangWatch(LIMIT) as watch:
            with pytest.raises(ServerHangs, match=r"blocked for 0\.5 s"):
                block()
            assert watch.found is not None
            return watch.found

    said = str(asyncio.run(main()))
    place = said.partition("The loop was here:\n")[2].splitlines()[0]
    assert place.startswith(f"  {__file__}:")
    assert place.endswith(f" in {block.__name__}")


def test_what_swallows_it_is_broken_off_again() -> None:
    async def main() -> None:
        with HangWatch(LIMIT) as watch:
            with suppress(ServerHangs):
                blocks_in_c()
            with pytest.raises(ServerHangs):
                blocks_in_c()
            assert watch.found is not None

    asyncio.run(main())


def test_a_loop_that_only_waits_is_left_alone() -> None:
    async def main() -> None:
        with HangWatch(LIMIT / 5) as watch:
            await asyncio.sleep(LIMIT)
        assert watch.found is None

    asyncio.run(main())


def test_a_loop_that_nobody_runs_is_left_alone() -> None:
    async def begin() -> HangWatch:
        return HangWatch(LIMIT / 5).__enter__()

    async def end(watch: HangWatch) -> None:
        watch.__exit__(None, None, None)

    with asyncio.Runner() as runner:
        watch = runner.run(begin())
        threading.Event().wait(LIMIT)
        runner.run(end(watch))
    assert watch.found is None


@pytest.mark.parametrize("limit", [None, LIMIT])
def test_everything_is_as_before_when_it_is_over(limit: float | None) -> None:
    before = signal.getsignal(signal.SIGURG)

    async def main() -> None:
        threads = threading.active_count()
        with HangWatch(limit):
            assert threading.active_count() == threads + (limit is not None)
        assert threading.active_count() == threads

    asyncio.run(main())
    assert signal.getsignal(signal.SIGURG) is before


def test_other_threads_are_not_watched() -> None:
    def run() -> None:
        async def main() -> None:
            with HangWatch(LIMIT):
                found.append(threading.active_count())

        asyncio.run(main())

    found: list[int] = []
    thread = threading.Thread(target=run)
    before = threading.active_count()
    thread.start()
    thread.join()
    assert found == [before + 1]
