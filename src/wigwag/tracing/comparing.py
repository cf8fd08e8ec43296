"""Compares two recordings of the same requests: what is answered otherwise now, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, Final

from msgspec import Struct

from wigwag.client.targets import opener_for
from wigwag.schema import NOTIFICATIONS_PROGRESS
from wigwag.tracing.conversation import Entry
from wigwag.tracing.differences import Difference, IgnoredPaths, differences
from wigwag.tracing.performing import OPAQUE, perform
from wigwag.tracing.records import Recording, read_recording
from wigwag.tracing.script import Cue, Line, Script, params_of, read_script

__all__ = ["Comparison", "Outcome", "compare_recordings", "replay_against"]

# What differs from run to run in any case.
_MADE_UP: Final = (
    *OPAQUE,
    "createdAt",
    "io.modelcontextprotocol/subscriptionId",
    "lastUpdatedAt",
    "progressToken",
)


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one recorded request, or of all that the server said by itself, of one kind.

    Attributes:
        method: Of the request, or of what the server said.
        subject: What it is about: the name of a tool, a URI.
        id: That of the request in the recording; `None` for what the server said by itself.
        at: When it was sent in the recording.
        failure: Why there is no answer now, if there is none.
        differences: Where the two differ.
    """

    method: str
    subject: str = ""
    id: Any = None
    at: float = 0.0
    failure: str = ""
    differences: list[Difference] = []

    @property
    def is_alike(self) -> bool:
        """Whether the server has answered as it did then."""
        return not self.failure and not self.differences


class Comparison(Struct, frozen=True, kw_only=True):
    """What came of playing a recorded client against a server.

    Attributes:
        outcomes: What came of each request, in order, and then of what the server said by itself.
        redacted: The requests from which something secret had been taken out: they were sent like
            that, and may well be answered otherwise.
        recording: What was said this time.
    """

    outcomes: list[Outcome]
    redacted: list[str]
    recording: Recording

    @property
    def is_alike(self) -> bool:
        """Whether the server has answered everything as it did then."""
        return all(outcome.is_alike for outcome in self.outcomes)


async def replay_against(
    recording: Recording | str | os.PathLike[str] | BinaryIO,
    target: Any,
    *,
    ignore: Iterable[str] = (),
    timeout: float = 60.0,  # noqa: ASYNC109 - for each answer
    **options: Any,
) -> Comparison:
    """Say to a server what a recorded client said, and compare the answers.

    Ids, times, and what each run makes up (cursors, states, ids of tasks) do not count; the order
    of tools and other named things neither.

    Args:
        recording: What `wigwag trace` has recorded, or where it is.
        target: The server, as `Client` takes it.
        ignore: Places in answers that do not matter, as `IgnoredPaths` takes them.
        timeout: Seconds for each answer.
        **options: `env`, `cwd`, `on_stderr`, `headers`, `ssl` and `auth`, as `Client` takes them.

    Raises:
        RecordingError: It is no recording.
        OSError: It cannot be read.
        ValueError: There is no such target, or what is to be ignored cannot be read.
        McpError: There is no connecting to the server, or it left before it answered anything.
        TimeoutError: That took too long.
    """
    ignored = IgnoredPaths(ignore)
    if not isinstance(recording, Recording):
        recording = read_recording(recording)
    script = read_script(recording)
    opener = opener_for(target, **options)
    performance = await perform(script, opener, limit=timeout)
    now = read_script(performance.recording)
    return Comparison(
        outcomes=_outcomes(script, now, ignored, performance.failures),
        redacted=performance.unredacted,
        recording=performance.recording,
    )


def compare_recordings(
    recorded: Recording, now: Recording, *, ignore: Iterable[str] = ()
) -> list[Outcome]:
    """Compare what was answered in two recordings of the same requests, in the same order.

    Args:
        recorded: The one.
        now: The other.
        ignore: Places in answers that do not matter, as `IgnoredPaths` takes them.

    Raises:
        ValueError: What is to be ignored cannot be read.
    """
    return _outcomes(read_script(recorded), read_script(now), IgnoredPaths(ignore), {})


def _outcomes(
    script: Script, now: Script, ignored: IgnoredPaths, failures: Mapping[int, str]
) -> list[Outcome]:
    outcomes = []
    for place, cue in enumerate(script.requests):
        other = now.requests[place] if place < len(now.requests) else None
        outcomes.append(_outcome(cue, other, ignored, failures))
    ours, theirs = _own_accord(script), _own_accord(now)
    for method in dict.fromkeys([*ours, *theirs]):
        found = _compare_told(method, ours.get(method, []), theirs.get(method, []), ignored)
        outcomes.append(Outcome(method=method, differences=found))
    return outcomes


def _outcome(
    cue: Cue, other: Cue | None, ignored: IgnoredPaths, failures: Mapping[int, str]
) -> Outcome:
    entry = cue.entry
    failure = "it was not asked" if other is None else failures.get(_number(other), "")
    found: list[Difference] = []
    if other is not None and not failure:
        found = _compare_answers(cue, other, ignored)
    return Outcome(
        method=entry.method,
        subject=entry.subject,
        id=entry.id,
        at=entry.at,
        failure=failure,
        differences=found,
    )


def _number(cue: Cue) -> int:
    return cue.entry.id if isinstance(cue.entry.id, int) else -1


def _compare_answers(cue: Cue, other: Cue, ignored: IgnoredPaths) -> list[Difference]:
    if cue.entry.answer is None:  # then nobody waits for it now, and it is chance what comes
        return []
    found = differences(
        _said(cue.entry.answer),
        _said(other.entry.answer),
        ignored=ignored,
        opaque=_MADE_UP,
        method=cue.entry.method,
    )
    ours, theirs = _on_the_way(cue), _on_the_way(other)
    for name in dict.fromkeys([*ours, *theirs]):
        found += _compare_told(name, ours.get(name, []), theirs.get(name, []), ignored)
    return found


def _said(answer: Entry | None) -> dict[str, Any]:
    """Return what an answer says, without what every answer has."""
    if answer is None:
        return {}
    return {name: answer.message[name] for name in ("result", "error") if name in answer.message}


def _on_the_way(cue: Cue) -> dict[str, list[Entry]]:
    """Return the progress that came before an answer."""
    return _by_method(
        line.entry
        for line in cue.lines
        if isinstance(line, Line) and not line.entry.is_answer and _is_bound(line.entry)
    )


def _own_accord(script: Script) -> dict[str, list[Entry]]:
    """Return all other notifications and what the client was asked, by their methods.

    Which request they came with may be chance: servers speak when they have something to say.
    """
    return _by_method(
        line.entry
        for cue in script.cues
        for line in cue.lines
        if isinstance(line, Line) and not line.entry.is_answer and not _is_bound(line.entry)
    )


def _is_bound(entry: Entry) -> bool:
    return entry.method == NOTIFICATIONS_PROGRESS


def _by_method(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.method, []).append(entry)
    return found


def _compare_told(
    method: str, recorded: list[Entry], now: list[Entry], ignored: IgnoredPaths
) -> list[Difference]:
    """Compare messages of the server that are no answers, in their order."""
    if ignored.has((method,)):
        return []
    return differences(
        {method: [params_of(entry) for entry in recorded]},
        {method: [params_of(entry) for entry in now]},
        ignored=ignored,
        opaque=_MADE_UP,
        method=method,
    )
