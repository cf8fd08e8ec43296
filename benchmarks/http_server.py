"""A server over HTTP that is running, asked one thing after the other, and what is sent to it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.programs import SERVER_CPU, BenchmarkFailed, Program, pin

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_INITIALIZE: Final = {
    "protocolVersion": LEGACY,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_START_SECONDS: Final = 40.0
_STOP_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 30.0
_KEPT_SECONDS: Final = 2.0


def message(
    version: str, method: str, params: Mapping[str, Any], number: int, token: str = ""
) -> dict[str, Any]:
    """Return a request of a revision, with a token when it is to tell of its progress."""
    meta: dict[str, Any] = dict(META) if version == MODERN else {}
    if token:
        meta["progressToken"] = token
    sent = dict(params)
    if meta:
        sent["_meta"] = meta
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": sent}


def http_request(port: int, version: str, body: Mapping[str, Any], session: str = "") -> bytes:
    """Return the bytes of a POST, with the headers its revision wants."""
    content = json.dumps(body, separators=(",", ":")).encode()
    head = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        *(f"{name}: {value}" for name, value in http_headers(version, body, session).items()),
        f"Content-Length: {len(content)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + content


def http_headers(version: str, body: Mapping[str, Any], session: str = "") -> dict[str, str]:
    """Return the headers a message of this revision is sent with."""
    method = body["method"]
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    if version == MODERN:
        headers |= {"MCP-Protocol-Version": version, "Mcp-Method": method}
        if "name" in body["params"]:
            headers["Mcp-Name"] = body["params"]["name"]
    elif method != "initialize":
        headers["MCP-Protocol-Version"] = version
    if session:
        headers["Mcp-Session-Id"] = session
    return headers


def messages_in(media_type: str, content: bytes) -> list[dict[str, Any]]:
    """Return the messages of a response."""
    if "text/event-stream" not in media_type:
        return [json.loads(content)] if content.strip() else []
    lines = [line[5:].strip() for line in content.split(b"\n") if line.startswith(b"data:")]
    return [json.loads(line) for line in lines if line]


class HttpServer:
    """A server process, on a processor of its own where there are two.

    Raises:
        BenchmarkFailed: It does not start.
    """

    def __init__(self, program: Program, options: Sequence[str] = ()) -> None:
        self.program = program
        self.port = free_port()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        self.process = subprocess.Popen(
            [*program.http, str(self.port), *options],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, **program.environment},
            preexec_fn=pin(SERVER_CPU),
        )
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=_ANSWER_SECONDS
        )
        self._fresh_until = 0.0
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()

    def _wait(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.02)
        raise self.failed("did not start")

    def failed(self, reason: str) -> BenchmarkFailed:
        """Return the error that says so, with the end of what the server has logged."""
        self._log.seek(0)
        logged = self._log.read()[-800:].decode(errors="replace")
        return BenchmarkFailed(f"{self.program.name}: {reason}\n{logged}")

    def post(
        self, version: str, body: Mapping[str, Any], session: str = ""
    ) -> tuple[http.client.HTTPResponse, list[dict[str, Any]]]:
        """Send a message; return the response and the messages in it."""
        content = json.dumps(body, separators=(",", ":")).encode()
        if time.monotonic() > self._fresh_until:  # the server may be closing it
            self._connection.close()
        self._connection.request("POST", "/mcp", content, http_headers(version, body, session))
        response = self._connection.getresponse()
        found = messages_in(response.headers.get("content-type", ""), response.read())
        self._fresh_until = time.monotonic() + _KEPT_SECONDS
        if response.status >= http.client.BAD_REQUEST:
            raise self.failed(f"{body['method']} was refused: {response.status} {found}")
        return response, found

    def open_session(self) -> str:
        """Open a legacy session and return its id."""
        body = message(LEGACY, "initialize", _INITIALIZE, 0)
        response, _ = self.post(LEGACY, body)
        session = response.headers.get("mcp-session-id")
        if session is None:
            raise self.failed("it opened no session")
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.post(LEGACY, ready, session)
        return session

    def cpu_seconds(self) -> float:
        """Return how long the server has computed so far; not a number where that is not told."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_kilobytes(self) -> int:
        """Return how much memory the server holds, to the page; only Linux tells."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        line = next(line for line in rollup.splitlines() if line.startswith("Rss:"))
        return int(line.split()[1])


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
