"""Conversations that the wiretap wrote down: messages with their kind, method and revision."""

import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tests.interop.catalogue import ORACLE
from tests.wire import Conversation

Sender = Literal["client", "server"]
Kind = Literal["request", "notification", "result", "error"]

MODERN: Final = "2026-07-28"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"


@dataclass(frozen=True)
class Record:
    """One message."""

    sender: Sender
    kind: Kind
    method: str
    """The message's own, or that of the request it answers; empty where there is none."""
    revision: str
    message: dict[str, Any]

    @property
    def params(self) -> dict[str, Any]:
        """The params, empty if there are none."""
        params: dict[str, Any] = self.message.get("params", {})
        return params


def kind_of(message: dict[str, Any]) -> Kind:
    """Which of the four shapes of JSON-RPC a message has."""
    if "method" in message:
        return "request" if "id" in message else "notification"
    return "result" if "result" in message else "error"


class Follower:
    """Follows one conversation from its start."""

    def __init__(self) -> None:
        self._revision = (
            MODERN  # until something says otherwise: only `server/discover` can come first
        )
        self._asked: dict[tuple[Sender, str], tuple[str, str]] = {}

    def follow(self, sender: Sender, message: dict[str, Any]) -> Record:
        """Takes the next message."""
        kind = kind_of(message)
        if kind in ("request", "notification"):
            return self._said(sender, kind, message)
        asker: Sender = "server" if sender == "client" else "client"
        method, revision = self._asked.pop(
            (asker, json.dumps(message.get("id"))), ("", self._revision)
        )
        if method == "initialize" and kind == "result":
            self._revision = revision = message["result"]["protocolVersion"]
        return Record(sender, kind, method, revision, message)

    def _said(self, sender: Sender, kind: Kind, message: dict[str, Any]) -> Record:
        method = message["method"]
        params = message.get("params") or {}
        if method == "initialize":
            self._revision = params["protocolVersion"]
        elif version := (params.get("_meta") or {}).get(VERSION_KEY):
            self._revision = version
        if kind == "request":
            self._asked[sender, json.dumps(message["id"])] = (method, self._revision)
        return Record(sender, kind, method, self._revision, message)


def read(folder: Path) -> list[list[Record]]:
    """Every conversation in a folder of the wiretap, oldest first."""
    conversations = []
    for path in sorted(folder.glob("*.jsonl")):
        follower = Follower()
        conversations.append(
            [
                follower.follow(each["sender"], json.loads(each["line"]))
                for each in _written(path)
                if "line" in each
            ]
        )
    return conversations


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """The heads of one request over HTTP and of its answer; names of headers are lower case."""

    method: str
    target: str
    request: dict[str, str]
    status: int
    response: dict[str, str]


def read_exchanges(folder: Path) -> list[Exchange]:
    """Every answered request in a folder of the wiretap for HTTP, in the order of the answers."""
    return [
        Exchange(**each["exchange"])
        for path in sorted(folder.glob("*.jsonl"))
        for each in _written(path)
        if "exchange" in each
    ]


def _written(path: Path) -> list[dict[str, Any]]:
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    unreadable = [each for each in written if "unreadable" in each]
    assert not unreadable, unreadable
    return written


def problems_of(sender: Sender, records: list[Record]) -> list[str]:
    """What our own rules of the wire have against what one side sent in a conversation."""
    watched = Conversation()
    for record in records:
        watched.saw(record.sender, json.dumps(record.message).encode())
    return [each for each in watched.problems if each.startswith(f"{sender}:")]


class Oracle:
    """The types of the official SDK, in that SDK's own environment, asked as often as one likes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ORACLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def problems(self, records: list[Record]) -> list[str]:
        """What it has against these messages."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # That SDK knows nothing of the tasks of 2025-11-25 any more.
        known = [record for record in records if not record.method.startswith("tasks/")]
        self._process.stdin.writelines(json.dumps(asdict(record)) + "\n" for record in known)
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        return [f"{each['problem']}\n  in {json.dumps(each['record'])}" for each in found]

    def close(self) -> None:
        """Lets it go."""
        self._process.communicate(timeout=10)
