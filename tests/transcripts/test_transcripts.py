"""Golden dialogues. `pytest tests/transcripts --update` writes our lines anew."""

from pathlib import Path

import pytest

from tests.transcripts.player import play, read, write
from tests.watch import WireWatch

TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.jsonl"))

# The pages of the specification that the core implements.
PAGES = {
    "basic",
    "basic/cancellation",
    "basic/lifecycle",
    "basic/ping",
    "basic/progress",
    "basic/transports/stdio",
    "basic/versioning",
    "client/elicitation",
    "client/roots",
    "client/sampling",
    "server/completion",
    "server/discover",
    "server/logging",
    "server/pagination",
    "server/prompts",
    "server/resources",
    "server/tools",
}


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_our_side_says_what_it_always_said(
    path: Path, request: pytest.FixtureRequest, wire: WireWatch
) -> None:
    header, steps = read(path)
    played = play(header, steps)
    wire.begin()  # the player has judged the messages: it knows which are broken on purpose
    if request.config.getoption("--update", default=False):
        write(path, header, played)
        return
    for number, (now, before) in enumerate(zip(played, steps, strict=False), start=2):
        assert now == before, f"line {number} of {path.name}"
    assert len(played) == len(steps)


def test_every_page_has_a_transcript() -> None:
    shown = {read(path)[0]["page"] for path in TRANSCRIPTS}
    assert shown >= PAGES


def test_every_transcript_says_what_it_shows() -> None:
    for path in TRANSCRIPTS:
        header, steps = read(path)
        assert set(header) <= {"page", "about", "ours", "server", "client"}, path.name
        assert header["about"].endswith("."), path.name
        assert any(header["ours"] in step for step in steps) or path.stem.endswith("silence")
