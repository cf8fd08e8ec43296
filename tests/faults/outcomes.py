"""What becomes of a fault, as cells of a table: the fault, the way, and what the caller learns."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

from tests.faults.orders import Fault
from tests.faults.ways import SILENCE, Way


class Outcome(NamedTuple):
    """What the caller learns: an error of exactly this type, with these words in it; or nothing."""

    error: type[Exception] | None = None
    words: str = ""

    async def of(self, work: Awaitable[Any]) -> None:
        """Wait for the end of something, which must be this."""
        if self.error is None:
            await work
            return
        with pytest.raises(self.error, match=self.words) as caught:
            await work
        assert type(caught.value) is self.error, repr(caught.value)


FINE = Outcome()
SILENT = rf"\({SILENCE:g} s without a sign of life\)"

Row = tuple[str, Fault, Sequence[Way], Outcome]


CELL = ("fault", "way", "outcome")


def cells(rows: Sequence[Row]) -> list[ParameterSet]:
    """Return the cells of rows as parameters of a test, which are called as in `CELL`."""
    return [
        pytest.param(fault, way, outcome, id=f"{name}-{way}")
        for name, fault, ways, outcome in rows
        for way in ways
    ]


def row(fault: str, ways: Sequence[Way], outcome: Outcome, **more: Any) -> Row:
    """Return a row of cells: a fault by its name, and what it takes besides."""
    name = " ".join([fault, *(str(value) for value in more.values() if type(value) is not dict)])
    return name[:40], {"is": fault, **more}, ways, outcome
