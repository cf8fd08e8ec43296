"""A fault server over stdio: blocking, one message after the other."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

from tests.faults.answers import (
    Json,
    Message,
    acknowledged,
    answer_to,
    changed,
    encode,
    progress,
    spoiled,
    step_of,
)
from tests.faults.orders import Fault, Orders

FOREVER = 600.0


def serve_stdio(folder: str) -> None:
    """Serve until the input ends, or longer."""
    server = StdioSide(Orders(folder))
    server.begin()
    for line in sys.stdin.buffer:
        server.receive(json.loads(line))
    server.end()


class StdioSide:
    """What the server does with its streams.

    Args:
        orders: What it is told to do.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._owed: dict[Json, Message] = {}  # answers that are said when nobody waits any more
        self._listening: list[Json] = []
        self._turn = threading.Lock()

    def begin(self) -> None:
        """Start up."""
        self._orders.note(step="start", pid=os.getpid())
        fault = self._orders.fault_at("start")
        if fault is not None:
            self._misbehave(fault, {"id": 0})

    def end(self) -> None:
        """Leave, or not."""
        self._orders.note(step="end")
        fault = self._orders.fault_at("end")
        if fault is not None:
            self._misbehave(fault, {"id": 0})

    def receive(self, message: Message) -> None:
        """Do what a message asks for."""
        step = step_of(message)
        self._orders.note(step=step, message=message)
        fault = self._orders.fault_at(step)
        if step == "notifications/cancelled":
            owed = self._owed.pop(message["params"]["requestId"], None)
            if owed is not None:
                self._say(encode(owed))
                self._orders.note(said_late=owed["id"])
        elif step == "subscriptions/listen" and fault is None:
            self._listening.append(message["id"])
            self._say(encode(acknowledged(message)))
        elif "id" not in message or "method" not in message:
            pass
        else:
            if step == "tell":
                self._tell()
            answer = answer_to(message, self._orders.plan()["revision"], fault)
            if fault is None or not self._misbehave(fault, answer, message):
                self._say(encode(answer))

    def _tell(self) -> None:
        for subscription in self._listening or [None]:
            self._say(encode(changed(subscription)))

    def _misbehave(self, fault: Fault, answer: Message, message: Message | None = None) -> bool:
        """Do what is wrong; tell whether that was all."""
        match fault["is"]:
            case "silent":
                self._tell_stderr(fault)
            case "late":
                self._owed[answer["id"]] = answer
            case "slow":
                threading.Thread(
                    target=self._answer_slowly, args=(fault, answer, message), daemon=True
                ).start()
            case "die":
                self._die(fault, answer)
            case "die later":  # of what it was asked, when it is asked again
                sys.stdin.buffer.readline()
                self._die(fault, answer)
            case "close output":
                os.close(1)
            case "stop reading":
                time.sleep(FOREVER)
            case "children" | "deaf":
                self._outlast(fault)
            case _:
                for text in spoiled(fault, answer):
                    self._say(text)
        return True

    def _answer_slowly(self, fault: Fault, answer: Message, message: Message) -> None:
        steps = fault.get("steps", 0)
        for number in range(steps):
            time.sleep(fault["seconds"] / steps)
            self._say(encode(progress(message, number + 1)))
        if not steps:
            time.sleep(fault["seconds"])
        self._say(encode(answer))
        self._orders.note(said_late=answer["id"])

    def _die(self, fault: Fault, answer: Message) -> None:
        if fault.get("half"):
            os.write(1, encode(answer)[:-9])
        self._tell_stderr(fault)
        if "signal" in fault:
            os.kill(os.getpid(), fault["signal"])
        os._exit(fault.get("code", 1))

    def _tell_stderr(self, fault: Fault) -> None:
        if "words" in fault:
            sys.stderr.write(fault["words"])
            sys.stderr.flush()

    def _outlast(self, fault: Fault) -> None:
        if fault["is"] == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        import subprocess  # noqa: PLC0415 - few need it

        for _ in range(fault.get("children", 0)):
            child = subprocess.Popen(["sleep", str(int(FOREVER))])
            self._orders.note(child=child.pid)
        if fault["is"] == "deaf":
            self._orders.note(deaf=True)
            threading.Thread(target=time.sleep, args=(FOREVER,)).start()

    def _say(self, text: bytes) -> None:
        with self._turn:
            data = memoryview(text + b"\n")
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:  # the client did not wait for it, or the output is closed
                pass
