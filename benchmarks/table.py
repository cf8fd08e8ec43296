"""The samples of one metric, and the row that is shown of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.programs import WIGWAG, BenchmarkFailed, Program

NAME_WIDTH = 46
UNIT_WIDTH = 9
CELL_WIDTH = 17
REASON_WIDTH = 160


@dataclass(frozen=True)
class Goal:
    """What Wigwag's ratio to the first program, or its figure, should be.

    Attributes:
        at_least: Whether more is better.
        limit: The ratio, or the figure.
        is_ratio: Whether it is meant of the ratio.
    """

    at_least: bool
    limit: float
    is_ratio: bool = True

    def verdict(self, figure: float, ratio: float) -> str:
        """Say what the goal is and whether it is met."""
        value = ratio if self.is_ratio else figure
        met = value >= self.limit if self.at_least else value <= self.limit
        sign = ">=" if self.at_least else "<="
        unit = "x" if self.is_ratio else ""
        return f"goal {sign} {self.limit:g}{unit}: {'met' if met else 'MISSED'}"


@dataclass
class Row:
    """What was measured of every program, round by round."""

    name: str
    unit: str
    goal: Goal | None = None
    samples: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, program: Program, value: float) -> None:
        """Take one sample."""
        self.samples.setdefault(program.name, []).append(value)

    def take(self, program: Program, sample: Callable[[], float]) -> None:
        """Take one sample, unless the program has shown that it cannot do what is measured.

        Raises:
            BenchmarkFailed: It cannot, and it is Wigwag or what all are compared with.
        """
        if program.name in self.left_out:
            return
        try:
            self.add(program, sample())
        except BenchmarkFailed as error:
            self.leave_out(program, error)

    def leave_out(self, program: Program, error: BenchmarkFailed) -> None:
        """Do without a program that cannot do what is measured.

        Raises:
            BenchmarkFailed: It is Wigwag or what all are compared with.
        """
        if program.name == WIGWAG.name or not self.samples:
            raise error
        self.samples.pop(program.name, None)
        self.left_out[program.name] = str(error)

    def medians(self) -> dict[str, float]:
        """Return the medians by program."""
        return {name: statistics.median(values) for name, values in self.samples.items()}

    def ratios(self) -> dict[str, float]:
        """Return the medians of the ratios to the first program's sample of the same round."""
        base = next(iter(self.samples.values()))
        return {
            name: statistics.median(
                a / b if b else float("nan") for a, b in zip(values, base, strict=False)
            )
            for name, values in self.samples.items()
        }

    def text(self, programs: Iterable[Program]) -> str:
        """Return the row as it is shown."""
        medians, ratios = self.medians(), self.ratios()
        cells = [
            f"{medians[p.name]:10,.{_digits(medians[p.name])}f} {ratios[p.name]:5.2f}x"
            if p.name in medians
            else "-"
            for p in programs
        ]
        line = f"{self.name:{NAME_WIDTH}} {self.unit:{UNIT_WIDTH}}"
        line += "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells)
        if self.goal is not None and WIGWAG.name in medians:
            line += f"   {self.goal.verdict(medians[WIGWAG.name], ratios[WIGWAG.name])}"
        notes = [f"    left out: {shortened(reason)}" for reason in self.left_out.values()]
        return "\n".join([line, *notes])


def shortened(reason: str) -> str:
    """Return the beginning of why a program was left out."""
    line = reason.partition("\n")[0]
    return line if len(line) <= REASON_WIDTH else line[:REASON_WIDTH] + "…"


def _digits(value: float) -> int:
    return 0 if value >= 1000 else 1


def heading(title: str, programs: Sequence[Program]) -> str:
    """Return the line above the rows of these programs."""
    names = "".join(f"{program.name:>{CELL_WIDTH}}" for program in programs)
    return f"{title:{NAME_WIDTH}} {'':{UNIT_WIDTH}}{names}"
