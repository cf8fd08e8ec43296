"""Holds every store of tokens to the contract."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.token_places import STORES
from tests.contract.token_store_contract import (
    CHECKS,
    PATIENCE,
    Check,
    Place,
    a_value_may_be_empty_or_a_hundred_kilobytes,
)
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio

HOLDER = "tests.contract.lock_holder"


def memory(_: Path) -> Place:
    store = MemoryTokenStore()
    return Place(lambda: store)


def in_folder(kind: str) -> Callable[[Path], Place]:
    return lambda folder: Place(lambda: STORES[kind](folder / "kept"))


PLACES = {"memory": memory, **{kind: in_folder(kind) for kind in STORES}}
# A keyring that is a file is written anew for each of thousands of entries.
TOO_LONG = [("small_keyring", a_value_may_be_empty_or_a_hundred_kilobytes)]


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        pytest.param(kind, check, id=f"{kind}-{check.__name__}")
        for kind in PLACES
        for check in CHECKS
        if (kind, check) not in TOO_LONG
    ],
)
async def test_every_store_of_tokens_keeps_the_contract(
    kind: str, check: Check, tmp_path: Path
) -> None:
    await check(PLACES[kind](tmp_path))


@contextmanager
def holder(kind: str, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a process that takes a lock."""
    with subprocess.Popen(
        [sys.executable, "-m", HOLDER, kind, str(folder), "tokens"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["files", "keyring"])
async def test_processes_take_turns_and_a_killed_one_holds_up_nobody(
    kind: str, tmp_path: Path
) -> None:
    store = STORES[kind](tmp_path)
    with holder(kind, tmp_path) as first:
        assert [line_of(first), line_of(first)] == ["waits", "inside"]
        with holder(kind, tmp_path) as second:
            assert line_of(second) == "waits"

            async def enter() -> bytes | None:
                async with store.lock("tokens"):
                    return await store.load("count")

            waiting = asyncio.create_task(enter())
            done, _ = await asyncio.wait([waiting], timeout=0.2)
            assert not done  # it is another process that is inside
            first.kill()
            # Whichever is next: both get their turn, and nothing is lost.
            await asyncio.to_thread(second.communicate, timeout=PATIENCE)
            assert second.returncode == 0
            async with asyncio.timeout(PATIENCE):
                assert await waiting in (None, b"1")
    assert await store.load("count") == b"1"
