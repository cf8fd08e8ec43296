"""Asks a server anything over a bare connection, and returns what it says, whatever that is.

A `Client` keeps to the rules, and reads around what is malformed. The doctor wants to know what the
server does when it is asked otherwise, and what exactly it answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import UNSET

from wigwag._version import __version__
from wigwag.client.targets import Open
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
    SessionLost,
)
from wigwag.jsonrpc.codec import (
    UNDECODABLE,
    decode_message,
    encode_error,
    encode_id,
    encode_notification,
    encode_request,
    encode_value,
)
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.jsonrpc.messages import (
    ErrorObject,
    ErrorResponse,
    InvalidMessage,
    Request,
    RequestId,
    Response,
)
from wigwag.runtime.wire_log import open_wire_log
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    INITIALIZE,
    NOTIFICATIONS_INITIALIZED,
    PING,
    PROTOCOL_VERSION_KEY,
)
from wigwag.transports.contract import Connection, ExchangeConnection, Received

__all__ = ["Interview", "interview"]

_INFO = {"name": "wigwag-doctor", "version": __version__}


@asynccontextmanager
async def interview(open_connection: Open, *, answer_timeout: float) -> AsyncIterator[Interview]:
    """Open a connection for questions, and close it in the end.

    Args:
        open_connection: Opens it.
        answer_timeout: Seconds to wait for each answer.

    Raises:
        McpError: There is no connection.
    """
    connection = await open_connection()
    try:
        yield Interview(connection, answer_timeout=answer_timeout)
    finally:
        await connection.aclose()


class Interview:
    """A conversation in which only what is asked here is said.

    Args:
        connection: What carries the messages; it is started here.
        answer_timeout: Seconds to wait for each answer.
    """

    def __init__(self, connection: Connection, *, answer_timeout: float) -> None:
        self._connection = connection
        self._answer_timeout = answer_timeout
        self._asked: dict[RequestId, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._lost: Exception | None = None
        self._wire = open_wire_log("client")
        connection.start(self)

    async def greet(self, version: str) -> dict[str, Any]:
        """Begin as a legacy client that speaks a version, and return what the server answers.

        Raises:
            RequestFailed: It refused.
            RequestTimedOut: It was silent.
            RemoteProtocolError: It answered with something that is no result.
            TransportError: The connection is gone.
        """
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": _INFO}
        result = await self.ask(INITIALIZE, params)
        agreed = result.get("protocolVersion")
        if isinstance(self._connection, ExchangeConnection) and isinstance(agreed, str):
            self._connection.use_revision(agreed)
        self._send(encode_notification(NOTIFICATIONS_INITIALIZED, None))
        return result

    async def ask_modern(
        self, version: str, method: str, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Ask as a client of a modern version, which needs no greeting; raises as `greet`."""
        meta = {
            PROTOCOL_VERSION_KEY: version,
            CLIENT_INFO_KEY: _INFO,
            CLIENT_CAPABILITIES_KEY: {},
        }
        return await self.ask(method, {**(params or {}), "_meta": meta})

    async def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Ask, and return the result as the server gave it; raises as `greet`."""
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        request_id = self._last_id
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[request_id] = future
        encoded = None if params is None else encode_value(params)
        self._send(encode_request(request_id, method, encoded))
        try:
            async with asyncio.timeout(self._answer_timeout):
                result = await future
        except TimeoutError:
            limit = f"the doctor waits {self._answer_timeout:g} s"
            raise RequestTimedOut(method, self._answer_timeout, limit) from None
        finally:
            self._asked.pop(request_id, None)
        if not isinstance(result, dict):
            raise RemoteProtocolError(f"the result of {method} is no object")
        return result

    # --- Receiver

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Hand answers to who asked, and answer the server as a client does that offers nothing."""
        for data in messages:
            if self._wire is not None and isinstance(data, bytes):
                self._wire.received(data)
            message = decode_message(data) if isinstance(data, bytes) else None
            match message:
                case Response(id=request_id, result=result):
                    self._settle(request_id, result)
                case ErrorResponse(id=request_id, error=error):
                    self._refuse(request_id, _failure(error))
                case InvalidMessage(answers=True, id=request_id, reason=reason):
                    self._refuse(request_id, RemoteProtocolError(reason))
                case Request(id=request_id, method=method):
                    self._answer(request_id, method)
                case _:  # notifications and junk are looked at elsewhere
                    pass

    def end_of_input(self) -> None:
        """`connection_lost` follows."""

    def connection_lost(self, reason: Exception | None) -> None:
        """Fail all that was asked."""
        self._lost = reason or ConnectionClosed("the connection was closed")
        for request_id in list(self._asked):
            self._refuse(request_id, self._lost)

    def _settle(self, request_id: RequestId, result: msgspec.Raw) -> None:
        future = self._asked.get(request_id)
        if future is None or future.done():
            return
        try:
            future.set_result(msgspec.json.decode(result))
        except UNDECODABLE as error:
            future.set_exception(RemoteProtocolError(f"the result cannot be read: {error}"))

    def _refuse(self, request_id: RequestId | None, error: Exception) -> None:
        if request_id is None:  # who cannot read a message answers without its id
            request_id = next(iter(self._asked), None)
        future = None if request_id is None else self._asked.get(request_id)
        if future is not None and not future.done():
            future.set_exception(error)

    def _answer(self, request_id: RequestId, method: str) -> None:
        if method == PING:
            answer = b'{"jsonrpc":"2.0","id":%b,"result":{}}' % encode_id(request_id)
        else:
            answer = encode_error(request_id, METHOD_NOT_FOUND, f"Method not found: {method}")
        self._send(answer)

    def _send(self, message: bytes) -> None:
        if self._wire is not None:
            self._wire.sent(message)
        self._connection.send([message])

    # --- ExchangeReceiver

    def is_waiting(self, request_id: RequestId) -> bool:
        """Tell whether somebody waits for an answer."""
        return request_id in self._asked

    def request_failed(self, request_id: RequestId, error: Exception) -> None:
        """Fail one request; an error of JSON-RPC in a refusal of HTTP is what was answered."""
        if isinstance(error, HttpStatusError) and error.status not in (401, 403):
            told = decode_message(error.body.encode())
            if isinstance(told, ErrorResponse):
                error = _failure(told.error)
        self._refuse(request_id, error)

    def request_held(self, request_id: RequestId) -> None:
        """Somebody logs in; the doctor waits no longer for that."""

    def request_released(self, request_id: RequestId) -> None:
        """As above."""

    def session_lost(self, reason: SessionLost) -> None:
        """Ask nothing more."""
        self._lost = reason

    def may_resume(self) -> bool:
        """Nothing is put right here."""
        return False

    def stream_resumed(self, method: str | None, reason: str, *, is_whole: bool) -> None:
        """It never is."""


def _failure(error: ErrorObject) -> RequestFailed:
    data = None if error.data is UNSET else msgspec.json.decode(error.data)
    return RequestFailed(error.code, error.message, data)
