import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from wigwag.runtime.threads import WorkerThreads
from wigwag.server.scope import Scope

pytestmark = pytest.mark.anyio

PATIENCE = 60.0


@pytest.fixture
def threads() -> WorkerThreads:
    return WorkerThreads(1)


class Notes(list[str]):
    async def until(self, note: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while note not in self:  # noqa: ASYNC110 - notes come from threads as well
                await asyncio.sleep(0)

    @contextmanager
    def plain(
        self, name: str, *, instead: str | None = None, swallow: bool = False
    ) -> Iterator[str]:
        try:
            yield name
        except Exception as error:
            self.append(f"{name} saw {error}")
            if instead is not None:
                raise ValueError(instead) from error
            if not swallow:
                raise
        finally:
            self.append(f"{name} closed")

    @asynccontextmanager
    async def later(self, name: str) -> AsyncIterator[str]:
        try:
            yield name
        finally:
            await asyncio.sleep(0)
            self.append(f"{name} closed")


async def test_what_was_entered_last_is_left_first(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    assert await scope.enter(notes.plain("a"), None) == "a"
    assert await scope.enter(notes.plain("b"), threads) == "b"
    assert await scope.enter_async(notes.later("c")) == "c"
    await scope.close(None)
    assert notes == ["c closed", "b closed", "a closed"]
    await scope.close(None)
    assert len(notes) == 3


async def test_an_error_passes_through_all_and_may_become_another(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    await scope.enter(notes.plain("a"), None)
    await scope.enter(notes.plain("b", instead="worse"), threads)
    await scope.enter(notes.plain("c", swallow=True), threads)
    with pytest.raises(ValueError, match="worse"):
        await scope.close(RuntimeError("bad"))
    assert notes == ["c saw bad", "c closed", "b saw bad", "b closed", "a saw worse", "a closed"]


async def test_what_was_raised_is_not_raised_anew() -> None:
    scope, notes = Scope(), Notes()
    await scope.enter(notes.plain("a"), None)
    await scope.close(RuntimeError("bad"))  # whoever closes raises it
    assert notes == ["a saw bad", "a closed"]


async def test_what_could_not_be_entered_is_not_left(threads: WorkerThreads) -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        raise ValueError("no key")
        yield

    for where in (None, threads):
        scope = Scope()
        with pytest.raises(ValueError, match="no key"):
            await scope.enter(broken(), where)
        await scope.close(None)


async def test_what_a_thread_still_uses_is_not_closed(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    began, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(began.set)
        assert gate.wait(PATIENCE)
        notes.append("worked")
        raise ValueError("nobody hears of it")

    await scope.enter(notes.plain("a"), None)
    running = asyncio.create_task(scope.run(threads, work))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await scope.close(RuntimeError("stopped"))  # does not wait for it
    assert notes == []
    gate.set()
    await notes.until("a closed")
    assert notes == ["worked", "a saw stopped", "a closed"]


async def test_what_is_cancelled_while_it_is_entered_is_left(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    began, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @contextmanager
    def slow() -> Iterator[None]:
        loop.call_soon_threadsafe(began.set)
        assert gate.wait(PATIENCE)
        with notes.plain("slow"):
            yield

    entering = asyncio.create_task(scope.enter(slow(), threads))
    await began.wait()
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    await scope.close(None)
    gate.set()
    await notes.until("slow closed")
    assert notes == ["slow closed"]


async def test_what_fails_to_close_when_nobody_listens_is_noted_in_the_log(
    threads: WorkerThreads, caplog: pytest.LogCaptureFixture
) -> None:
    scope, notes = Scope(), Notes()
    began, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(began.set)
        assert gate.wait(PATIENCE)

    await scope.enter(notes.plain("a"), None)
    await scope.enter(notes.plain("b", instead="no way"), None)
    running = asyncio.create_task(scope.run(threads, work))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await scope.close(RuntimeError("stopped"))
    gate.set()
    await notes.until("a closed")
    await asyncio.sleep(0)
    assert "a dependency of a call that was stopped failed to close" in caplog.text
    assert "ValueError: no way" in caplog.text


async def test_what_has_not_begun_when_it_is_cancelled_never_does(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    gate = threading.Event()
    blocked = threads.run(gate.wait, PATIENCE)
    waiting = asyncio.create_task(scope.run(threads, notes.append, "begun"))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.set()
    assert await blocked
    await scope.close(None)
    assert notes == []


async def test_closing_goes_on_when_it_is_cancelled(threads: WorkerThreads) -> None:
    scope, notes = Scope(), Notes()
    began = asyncio.Event()

    @asynccontextmanager
    async def endless() -> AsyncIterator[None]:
        yield
        began.set()
        await asyncio.Event().wait()

    await scope.enter(notes.plain("a"), threads)
    await scope.enter_async(endless())
    closing = asyncio.create_task(scope.close(None))
    await began.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert notes == ["a closed"]
