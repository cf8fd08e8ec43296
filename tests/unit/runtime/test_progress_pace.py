import pytest
from msgspec import UNSET

from wigwag.runtime.progress_pace import BURST, RATE, ProgressPace, Report


def test_a_burst_goes_at_once_and_no_more() -> None:
    pace = ProgressPace(100.0)
    assert [pace.may_go(100.0) for _ in range(BURST + 2)] == [True] * BURST + [False] * 2
    assert pace.wait() == pytest.approx(1 / RATE)


def test_afterwards_they_go_at_the_rate() -> None:
    pace = ProgressPace(0.0)
    for _ in range(BURST):
        pace.may_go(0.0)
    went = sum(pace.may_go(step / 1000) for step in range(1, 10_001))
    assert RATE * 10 - 1 <= went <= RATE * 10


def test_a_pause_does_not_earn_more_than_a_burst() -> None:
    pace = ProgressPace(0.0)
    assert sum(pace.may_go(1e6) for _ in range(100)) == BURST


def test_the_furthest_report_is_held() -> None:
    pace = ProgressPace(0.0)
    for progress in (1.0, 3.0, 2.0, float("nan")):
        pace.hold(Report(progress, UNSET, f"at {progress}"))
    assert pace.held == Report(3.0, UNSET, "at 3.0")
