"""Recordings for tests, told message by message."""

import json
from pathlib import Path
from typing import Any

from msgspec import Raw

from wigwag.tracing.records import (
    EndRecord,
    HttpPart,
    MessageRecord,
    Record,
    Recording,
    RecordWriter,
    Sender,
    TraceHeader,
)

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Told:
    """A recording that is being told, a second for each thing that happens.

    Attributes:
        records: What has been told so far.
    """

    def __init__(self, **header: Any) -> None:
        given = {"target": ["python", "server.py"], "transport": "stdio", **header}
        self.header = TraceHeader(started="2026-11-30T20:00:00.000Z", wigwag="0.7.0", **given)
        self.records: list[Record] = []
        self.now = 0.0

    @property
    def recording(self) -> Recording:
        return Recording(self.header, self.records)

    def tick(self) -> float:
        self.now += 1
        return self.now

    def says(
        self,
        sender: Sender,
        message: Any,
        *,
        http: HttpPart | None = None,
        connection: int = 0,
    ) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.records.append(
            MessageRecord(
                at=self.tick(), sender=sender, message=Raw(raw), http=http, connection=connection
            )
        )

    def asks(
        self,
        number: Any,
        method: str,
        params: Any = None,
        *,
        sender: Sender = "client",
        **http: Any,
    ) -> None:
        request = {"jsonrpc": "2.0", "id": number, "method": method}
        self.says(sender, request if params is None else {**request, "params": params}, **http)

    def answers(self, number: Any, result: Any, *, sender: Sender = "server", **http: Any) -> None:
        self.says(sender, {"jsonrpc": "2.0", "id": number, "result": result}, **http)

    def refuses(self, number: Any, code: int, message: str, **http: Any) -> None:
        error = {"code": code, "message": message}
        self.says("server", {"jsonrpc": "2.0", "id": number, "error": error}, **http)

    def notifies(
        self, method: str, params: Any = None, *, sender: Sender = "server", **http: Any
    ) -> None:
        notification = {"jsonrpc": "2.0", "method": method}
        told = notification if params is None else {**notification, "params": params}
        self.says(sender, told, **http)

    def greets(self, revision: str = "2025-11-25") -> None:
        """Shake hands, as legacy clients and servers do."""
        info = {"name": "host", "version": "1"}
        self.asks(
            0, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": info}
        )
        self.answers(
            0,
            {
                "protocolVersion": revision,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "library", "version": "2.0"},
            },
        )
        self.notifies("notifications/initialized", sender="client")

    def ends(self, exit_code: int | None = 0) -> None:
        self.records.append(
            EndRecord(at=self.tick(), exit_code=exit_code, reason=f"exited with code {exit_code}")
        )

    def write(self, path: Path) -> Path:
        with path.open("wb", buffering=0) as file:
            writer = RecordWriter(file, self.header)
            for record in self.records:
                writer.write(record)
        return path
