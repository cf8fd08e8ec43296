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
# In UTF-8, and in UTF-16.
_MARKS_OF_MESSAGES: Final = (b'"id"', b'"\0i\0d\0"')
_LONGEST_MARK: Final = 7


class Conversation:
    """A conversation with a server that need not keep any rule.

    Args:
        process: The server.
        patience: How long to wait for it.
    """

    def __init__(self, process: WatchedProcess, patience: Patience) -> None:
        self.process = process
        self._patience = patience
        self._read: dict[int, tuple[int, Output]] = {}
        self._asked_at = 0
        self._looked_at = 0
        self._may_have_message = False
        self.first_request: dict[str, Any] = {}
        """What was asked first of all."""

    @property
    def output(self) -> Output:
        """What the server has said so far."""
        return self._output_from(0)

    @property
    def output_since_last(self) -> Output:
        """What the server has said since it was last asked something."""
        return self._output_from(self._asked_at)

    def _output_from(self, begin: int) -> Output:
        length, output = self._read.get(begin, (-1, None))
        if output is None or length != len(self.process.output):
            output = read_output(bytes(self.process.output[begin:]))
            self._read[begin] = len(self.process.output), output
        return output

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
        self._begin_anew()
        self.first_request = self.first_request or request
        self._send(request)
        await self.process.wait_until(
            lambda: self._has_response(request_id) or self.process.has_exited, seconds
        )
        return self.output_since_last.response(request_id)

    def _begin_anew(self) -> None:
        """From now on look for responses only behind what the server has said before."""
        data = self.process.output
        # What is UTF-16 has to be read whole.
        is_wide = data[1:2] == b"\0" or bytes(data[:1]) in (b"\xff", b"\xfe")
        self._asked_at = 0 if is_wide else data.rfind(b"\n") + 1
        self._looked_at = self._asked_at
        self._may_have_message = False

    async def listen(self, seconds: float) -> None:
        """Let the server say what it says unasked, unless it is gone."""
        await self.process.wait_until(lambda: self.process.has_exited, seconds)

    def has_news(self) -> bool:
        """Tell whether the server may have said a whole message since it was last asked.

        Reading all anew for each chunk would take for ever where a server floods its output.
        """
        data = self.process.output
        if bytes(data[-1:]) not in (b"\n", b"\r", b"}", b"\0"):
            return False
        if not self._may_have_message:
            new = bytes(data[self._looked_at :])
            self._looked_at = max(0, len(data) - _LONGEST_MARK)
            self._may_have_message = any(mark in new for mark in _MARKS_OF_MESSAGES)
        return self._may_have_message

    def _has_response(self, request_id: str | int) -> bool:
        if not self.has_news():
            return False
        found = self.output_since_last.response(request_id)
        return found is not None or self._has_stray(request_id)

    def _has_stray(self, request_id: str | int) -> bool:
        """Tell whether there is what was meant for a response, and nothing better will come."""
        said = self.output_since_last.messages
        is_echo = any(one.get("id") == request_id and "method" in one for one in said)
        ids = [one.get("id") for one in said if "method" not in one]
        return is_echo or any(one is None or str(one) == str(request_id) for one in ids)

    def _send(self, message: dict[str, Any]) -> None:
        self.process.send(encode_value(message) + b"\n")
