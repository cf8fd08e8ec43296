"""Many calls at once of a server that is killed again and again, as `benchmarks/soak.py` does."""

import pytest

from benchmarks.programs import HAS_PROC
from benchmarks.soak import WAYS, Figures, main, soak

pytestmark = pytest.mark.anyio

CALLS = 150
# A server over HTTP takes longer to start.
KILLS = {"stdio": 4, "http": 2, "http-legacy": 2}


def is_enough(figures: Figures) -> bool:
    kills = KILLS[figures.way]
    return (figures.calls >= CALLS and figures.kills >= kills) or bool(figures.failed)


@pytest.mark.parametrize("way", WAYS)
async def test_no_call_is_lost_and_none_gets_the_answer_to_another(way: str) -> None:
    figures = await soak(way, is_enough, seed=1, in_flight=32, between=(40, 60), keeps_socket=True)
    assert (figures.failed, figures.wrong, figures.left) == ([], [], [])
    assert figures.calls >= CALLS
    # Each server that is killed takes calls with it; whether the last one does, chance decides.
    needed = KILLS[way] - 1
    assert figures.kills > needed
    assert figures.events["request_resent"] >= needed
    if way == "stdio":
        assert figures.events["server_restarted"] >= needed
    if way == "http-legacy":
        assert figures.events["session_reopened"] >= needed
    if HAS_PROC:
        assert figures.memory[1] > 0.0


def test_what_is_not_well_is_told() -> None:
    well = Figures("http", calls=10, kills=20, memory=(100.0, 109.0))
    assert well.problems == []
    assert str(well) == (
        "http: 10 calls, 20 kills, 0 sent again, 0 failed, 0 wrong, 0 left behind; "
        "memory 100.0 -> 109.0 MB"
    )
    assert Figures("http", kills=19, memory=(100.0, 200.0)).problems == []
    ill = Figures(
        "http",
        kills=20,
        failed=["ConnectionClosed: gone"],
        wrong=["'a' for 'b'"],
        memory=(100.0, 120.0),
        left=["process 7"],
    )
    assert ill.problems == [
        "failed: ConnectionClosed: gone",
        "wrong answer: 'a' for 'b'",
        "left behind: process 7",
        "memory has grown from 100.0 to 120.0 MB",
    ]


def test_an_unknown_way_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["carrier-pigeon"])
    assert "there is no way 'carrier-pigeon': stdio, http, http-legacy" in capsys.readouterr().err
