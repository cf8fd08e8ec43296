"""Talks to a server process as hosts do, and keeps what it makes of that."""

from __future__ import annotations

from typing import Any, Final

from wigwag._version import __version__
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.output_reading import Output, read_output
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.jsonrpc.codec import encode_value
from wigwag.schema import INITIALIZE, NOTIFICATIONS_INITIALIZED, SERVER_DISCOVER
from wigwag.schema.basic import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, PROTOCOL_VERSION_KEY
from wigwag.schema.revisions import LATEST_LEGACY, LATEST_MODERN

__all__ = ["Conversation"]

_INFO: Final = {"name": "wigwag-doctor", "version": __version__}


class Conversation:
    """A conversation with a server that need not keep any rule.

    Args:
        process: The server.
        patience: How long to wait for it.
    """

    def __init__(self, process: WatchedProcess, patience: Patience) -> None:
        self.process = process
        self._patience = patience
        self._read_bytes = -1
        self._output = Output([], {}, [])
        self._said_before = 0
        self.first_request: dict[str, Any] = {}
        """What was asked first of all."""

    @property
    def output(self) -> Output:
        """What the server has said so far."""
        data = self.process.output
        if len(data) != self._read_bytes:
            self._read_bytes = len(data)
            self._output = read_output(bytes(data))
        return self._output

    @property
    def output_since_last(self) -> Output:
        """What the server has said since it was last asked something, but for its faults."""
        return Output(self.output.messages[self._said_before :], {}, [])

    async def initialize(self) -> dict[str, Any] | None:
        """Send `initialize` as most hosts do; return the response, or `None` if there is none."""
        params = {"protocolVersion": LATEST_LEGACY, "capabilities": {}, "clientInfo": _INFO}
        return await self.ask(INITIALIZE, params, request_id=0, seconds=self._patience.start)

    async def discover(self, seconds: float) -> dict[str, Any] | None:
        """Send `server/discover`, as modern hosts do; return the response, if there is one."""
        meta = {
            PROTOCOL_VERSION_KEY: LATEST_MODERN,
            CLIENT_INFO_KEY: _INFO,
            CLIENT_CAPABILITIES_KEY: {},
        }
        return await self.ask(
            SERVER_DISCOVER, {"_meta": meta}, request_id="discover", seconds=seconds
        )

    def confirm(self) -> None:
        """Send `notifications/initialized`."""
        self._send({"jsonrpc": "2.0", "method": NOTIFICATIONS_INITIALIZED})

    async def ask(
        self, method: str, params: Any, *, request_id: str | int, seconds: float
    ) -> dict[str, Any] | None:
        """Send a request, and wait for the response, the end of the server, or of the time."""
        request = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            request["params"] = params
        self._said_before = len(self.output.messages)
        self.first_request = self.first_request or request
        self._send(request)
        await self.process.wait_until(
            lambda: self._has_response(request_id) or self.process.has_exited, seconds
        )
        return self.output.response(request_id)

    async def listen(self, seconds: float) -> None:
        """Let the server say what it says unasked, unless it is gone."""
        await self.process.wait_until(lambda: self.process.has_exited, seconds)

    def _has_response(self, request_id: str | int) -> bool:
        # What arrives piece by piece is not read anew for each piece.
        if bytes(self.process.output[-1:]) not in (b"\n", b"\r", b"}", b"\0"):
            return False
        return self.output.response(request_id) is not None or self._has_stray(request_id)

    def _has_stray(self, request_id: str | int) -> bool:
        """Tell whether there is what was meant for a response, and nothing better will come."""
        said = self.output_since_last.messages
        is_echo = any(one.get("id") == request_id and "method" in one for one in said)
        ids = [one.get("id") for one in said if "method" not in one]
        return is_echo or any(one is None or str(one) == str(request_id) for one in ids)

    def _send(self, message: dict[str, Any]) -> None:
        self.process.send(encode_value(message) + b"\n")
