"""What a fault server is told to do, and what it notes down: two files in one folder.

The server process reads the orders anew for each message, so they can be changed while it runs, and
one process can serve many folders. Many are started, so little of the standard library is loaded.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

Json: TypeAlias = Any
Fault: TypeAlias = dict[str, Any]
"""What goes wrong: its name under `is`, and what it takes besides.

`after`: so many times all is well before; `times`: so often it goes wrong, by default always.
"""


class Orders:
    """The two files of one server.

    Args:
        folder: Where they are.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._plan = os.path.join(folder, "plan.json")
        self._notes = os.path.join(folder, "notes.jsonl")

    @property
    def name(self) -> str:
        """What the folder is called."""
        return os.path.basename(self.folder)

    # --- for whoever gives them

    def give(
        self,
        *,
        revision: str,
        answers: str = "json",
        ids: bool = False,
        faults: dict[str, Fault] | None = None,
    ) -> None:
        """Say what is to be done.

        Args:
            revision: The one that is spoken.
            answers: How requests over HTTP are answered, `json` or `sse`.
            ids: Whether events have ids, from which a stream can be resumed.
            faults: What goes wrong, by the step at which it does: a method of MCP or of HTTP;
                `start` and `end` of a process.
        """
        os.makedirs(self.folder, exist_ok=True)
        plan = {"revision": revision, "answers": answers, "ids": ids, "faults": faults or {}}
        new = f"{self._plan}.new"
        with open(new, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        os.replace(new, self._plan)  # nobody may read half of it

    def notes(self) -> list[Json]:
        """Return what was noted so far, oldest first."""
        if not os.path.exists(self._notes):
            return []
        with open(self._notes, "rb") as file:
            whole, _, _ = file.read().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def received(self, step: str) -> list[Json]:
        """Return what was received at a step: messages, or headers where there is no message."""
        found = [note for note in self.notes() if note.get("step") == step]
        return [note.get("message", note.get("headers")) for note in found]

    def said(self, word: str) -> list[Json]:
        """Return what was noted under a word."""
        return [note[word] for note in self.notes() if word in note]

    # --- for the server

    def plan(self) -> dict[str, Json]:
        """Return the orders as of now."""
        with open(self._plan, encoding="utf-8") as file:
            plan: dict[str, Json] = json.load(file)
        return plan

    def fault_at(self, step: str) -> Fault | None:
        """Return what is to go wrong at a step that was noted just now."""
        fault: Fault | None = self.plan()["faults"].get(step)
        if fault is None or not {"after", "times"} & fault.keys():
            return fault
        number = len(self.received(step)) - int(fault.get("after", 0))
        return fault if 0 < number <= fault.get("times", number) else None

    def note(self, **what: Json) -> None:
        """Note something down, in one piece."""
        line = json.dumps(what).encode() + b"\n"
        file = os.open(self._notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line)
        finally:
            os.close(file)
