"""Watches every message that the library sends or receives in this process, and judges it.

The library logs each message on `wigwag.wire`; here each connection becomes a `Conversation` of
`tests/wire.py`, which knows the facts about the published schemas and nothing of ours.
"""

import logging
from collections import Counter
from collections.abc import Collection
from typing import get_args

from tests.wire import Conversation, Side

WIRE = logging.getLogger("wigwag.wire")
SIDES: tuple[Side, ...] = get_args(Side)


# Shorter messages are shown with the test that failed.
_SHOWN_BYTES = 4096


class WireWatch(logging.Filter):
    """Listens to the wire log, one conversation for each connection."""

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        """Forget what was seen: a test begins."""
        self.conversations: dict[str, Conversation] = {}
        self._extensions: set[str] = set()
        self._deliberate: Counter[Side] = Counter()
        self._faults: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        """Judge a message; never raises, for the library is in the middle of its work."""
        try:
            connection, direction = record.__dict__["connection"], record.__dict__["direction"]
            side: Side = "client" if connection.startswith("client-") else "server"
            other: Side = "server" if side == "client" else "client"
            sender = side if direction == ">" else other
            payload: bytes = record.__dict__["payload"]
            self._conversation(connection).saw(sender, payload)
        except Exception as error:  # noqa: BLE001 - reported at the end of the test
            self._faults.append(f"the watch itself failed: {error!r}")
            return True
        return len(payload) <= _SHOWN_BYTES

    def _conversation(self, connection: str) -> Conversation:
        if connection not in self.conversations:
            conversation = Conversation(extensions=self._extensions)
            for side in SIDES:
                conversation.expect_invalid(side, messages=self._deliberate[side])
            self.conversations[connection] = conversation
        return self.conversations[connection]

    # --- what tests say

    def expect_invalid(self, sender: Side, *, messages: int = 1) -> None:
        """Say that the next messages of a side are malformed on purpose, on every connection.

        One that turns out to be fine is a problem.
        """
        for conversation in self.conversations.values():
            conversation.expect_invalid(sender, messages=messages)
        if not self.conversations:
            self._deliberate[sender] += messages

    def allow_extensions(self, *names: str) -> None:
        """Let methods and result types of extensions through unread."""
        self._extensions.update(names)

    # --- what it found

    def problems(self, *, broken: Collection[Side] = (), must_break: bool = True) -> list[str]:
        """Return what is wrong.

        Args:
            broken: The sides that break the rules in this test.
            must_break: Whether it is wrong if they do not.
        """
        found = [
            (problem.partition(":")[0], f"{connection} saw {problem}")
            for connection, conversation in self.conversations.items()
            for problem in conversation.problems
        ]
        needless = [
            f"nothing was wrong with what the {side} sent: take the mark away"
            for side in broken
            if must_break and all(sender != side for sender, _ in found)
        ]
        return [text for sender, text in found if sender not in broken] + needless + self._faults
