"""How long the doctor waits for what."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Patience"]


class Patience(Struct, frozen=True, kw_only=True):
    """The time limits of an examination, in seconds.

    Attributes:
        start: For the first answer of a server, its start included.
        answer: For every further answer.
        slow_start: A start that takes longer is told as slow.
        quiet: For what may still come, once the answer is there: junk, or a second answer.
        exit: For a server to leave when its input is closed.
        leftovers: For what a server has started to leave with it.
        connect: For a connection to a URL.
        event: For a stream to open, and for what is sent first through it.
        idle: How long a stream is listened to that should stay open.
        keep_alive: Within which a silent stream should have a sign of life; judged only where
            `idle` is as long.
        total: For all questions about what a server offers.
    """

    start: float = 30.0
    answer: float = 10.0
    slow_start: float = 10.0
    quiet: float = 0.3
    exit: float = 3.0
    leftovers: float = 5.0
    connect: float = 10.0
    event: float = 10.0
    idle: float = 5.0
    keep_alive: float = 30.0
    total: float = 60.0
