"""Says to a server what a recorded client said, in its order, and records what comes of it."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from wigwag.bindings.mirrored_parameters import mirrored_parameters
from wigwag.client.targets import Opener
from wigwag.errors import ConnectionClosed, HttpStatusError, McpError, RemoteProtocolError
from wigwag.jsonrpc.codec import UNDECODABLE, encode_error
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.schema import (
    INITIALIZE,
    MODERN_REVISIONS,
    NOTIFICATIONS_CANCELLED,
    SUBSCRIPTIONS_LISTEN,
    TOOLS_LIST,
)
from wigwag.tracing.conversation import Entry
from wigwag.tracing.differences import fits
from wigwag.tracing.json_text import encode_json
from wigwag.tracing.recording_file import trace_header
from wigwag.tracing.records import (
    EndRecord,
    JunkRecord,
    MessageRecord,
    Record,
    Recording,
    Sender,
)
from wigwag.tracing.redaction import REDACTED
from wigwag.tracing.script import Cue, Line, Script, meta_of, params_of
from wigwag.transports.contract import Connection, ExchangeConnection, Received

__all__ = ["OPAQUE", "Performance", "perform"]

# What a server makes up, and a client gives back as it is: each run has its own.
OPAQUE: Final = ("nextCursor", "requestState", "taskId")
_GIVEN_BACK: Final = {"cursor", "requestState", "taskId"}
# How long what was said of the server's own accord may come after the last answer.
_LAST_WORDS: Final = 1.0


class Performance(Struct, kw_only=True):
    """What came of it.

    Attributes:
        recording: What was said this time.
        failures: Why requests got no answer, by their ids in that recording.
        unredacted: What was sent though something had been taken out of it, as `tools/call add`.
    """

    recording: Recording
    failures: dict[int, str]
    unredacted: list[str]


async def perform(script: Script, opener: Opener, *, limit: float) -> Performance:
    """Play the part of a recorded client.

    What the client sent goes out in its order; what it had waited for, is waited for. What the
    server asks is answered as it was then. Requests get new ids; cursors and the like are those
    that the server gives this time.

    Args:
        script: What was recorded.
        opener: Opens connections to the server.
        limit: Seconds for each answer, and for connecting.

    Raises:
        McpError: There is no connecting to the server, or it left before it answered anything.
        TimeoutError: It took too long.
    """
    performer = _Performer(script, opener, limit)
    try:
        await performer.run()
    finally:
        await performer.aclose()
    return performer.performance()


class _Log:
    """Records what is said."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self.records: list[Record] = []
        self._begun = time.perf_counter()

    def now(self) -> float:
        return round(time.perf_counter() - self._begun, 6)

    def message(self, sender: Sender, data: bytes) -> None:
        self.records.append(MessageRecord(at=self.now(), sender=sender, message=Raw(data)))

    def junk(self, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace")
        self.records.append(JunkRecord(at=self.now(), sender="server", text=text))


class _Performer:
    def __init__(self, script: Script, opener: Opener, limit: float) -> None:
        self._script = script
        self._opener = opener
        self._limit = limit
        self._log = _Log()
        self._ids = itertools.count(1)
        self._own_ids: dict[int, int] = {}  # by the `id()` of the recorded request
        self._learned: dict[str, str] = {}
        self._sides: dict[int, _Side] = {}  # by session
        self._asked: list[tuple[Cue, asyncio.Future[Any]]] = []
        self._failures: dict[int, str] = {}
        self._unredacted: list[str] = []
        self._reason: McpError | None = None  # why there was no answer first

    async def run(self) -> None:
        for cue in self._script.cues:
            await self._wait_as_then(cue.entry.at)
            side = await self._side_for(cue.entry)
            await self._send(cue, side)
        await self._wait_as_then(float("inf"))
        wanted = [cue for cue in self._script.requests if cue.entry.answer is not None]
        if self._reason is not None and len(self._failures) == len(wanted):
            raise self._reason
        await self._wait_for_last_words()

    def performance(self) -> Performance:
        target = self._opener.url or self._opener.name
        header = trace_header("stdio", target, self._log.started)
        records = [*self._log.records, EndRecord(at=self._log.now())]
        return Performance(
            recording=Recording(header, records),
            failures=self._failures,
            unredacted=self._unredacted,
        )

    async def aclose(self) -> None:
        for side in self._sides.values():
            await side.connection.aclose()

    async def _side_for(self, entry: Entry) -> _Side:
        """Return the connection for the session of a message, which may have to be opened."""
        session = entry.session
        if entry.method == INITIALIZE and entry.answer is not None:
            session = entry.answer.session or session
        if session not in self._sides:
            async with asyncio.timeout(self._limit):
                connection = await self._opener.open()
            self._sides[session] = _Side(connection, self._script, self._log)
        return self._sides[session]

    async def _wait_as_then(self, at: float) -> None:
        """Wait for what had been answered by a time of the recording."""
        for asked in list(self._asked):
            cue, future = asked
            answer = cue.entry.answer
            if answer is None or answer.at > at:
                continue
            self._asked.remove(asked)
            number = self._own_ids[id(cue.entry)]
            try:
                # Others wait for their own futures.
                now = await asyncio.wait_for(asyncio.shield(future), self._limit)
            except TimeoutError:
                self._failures[number] = f"no answer within {self._limit:g} s"
            except McpError as error:
                self._failures[number] = str(error)
                self._reason = self._reason or error
            else:
                self._learn(answer.message, now)

    async def _wait_for_last_words(self) -> None:
        """Give the server time to say what it had said of its own accord."""
        wanted = sum(
            isinstance(line, Line) and not line.entry.is_answer
            for cue in self._script.cues
            for line in cue.lines
        )
        deadline = time.monotonic() + min(_LAST_WORDS, self._limit)
        while sum(side.told for side in self._sides.values()) < wanted:
            left = deadline - time.monotonic()
            if left <= 0 or all(side.lost is not None for side in self._sides.values()):
                return
            waits = [asyncio.ensure_future(side.news.wait()) for side in self._sides.values()]
            for side in self._sides.values():
                side.news.clear()
            _, late = await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            for each in late:
                each.cancel()

    async def _send(self, cue: Cue, side: _Side) -> None:
        entry = cue.entry
        message = self._rewritten(entry)
        if REDACTED in json.dumps(message.get("params")):
            self._unredacted.append(f"{entry.method} {entry.subject}".strip())
        data = encode_json(message)
        self._log.message("client", data)
        if entry.kind == "request":
            number = self._own_ids[id(entry)]
            future = side.expect(number, entry.method)
            if entry.method != SUBSCRIPTIONS_LISTEN or entry.answer is not None:
                self._asked.append((cue, future))
        side.send(data, entry)
        await side.connection.drain()

    def _rewritten(self, entry: Entry) -> dict[str, Any]:
        message = dict(entry.message)
        params = self._given_back(params_of(entry))
        if entry.kind == "request":
            message["id"] = self._own_ids[id(entry)] = next(self._ids)
            meta = meta_of(params)
            if "progressToken" in meta:
                params["_meta"] = {**meta, "progressToken": message["id"]}
        elif entry.method == NOTIFICATIONS_CANCELLED:
            params["requestId"] = self._own_id_of(entry)
        if "params" in message:
            message["params"] = params
        return message

    def _own_id_of(self, entry: Entry) -> Any:
        """Return the id of the request that a cancellation takes back."""
        recorded = params_of(entry).get("requestId")
        for cue in reversed(self._script.requests):
            if cue.entry.at < entry.at and cue.entry.id == recorded:
                return self._own_ids[id(cue.entry)]
        return recorded

    def _given_back(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return params with what the server has made up this time."""
        return {
            name: self._learned.get(value, value)
            if name in _GIVEN_BACK and isinstance(value, str)
            else value
            for name, value in params.items()
        }

    def _learn(self, recorded: Any, now: Any) -> None:
        if isinstance(recorded, dict) and isinstance(now, dict):
            for name, value in recorded.items():
                other = now.get(name)
                if name in OPAQUE and isinstance(value, str) and isinstance(other, str):
                    self._learned[value] = other
                else:
                    self._learn(value, other)
        elif isinstance(recorded, list) and isinstance(now, list):
            for one, other in zip(recorded, now, strict=False):
                self._learn(one, other)


class _Side:
    """The client's side of one connection."""

    def __init__(self, connection: Connection, script: Script, log: _Log) -> None:
        self.connection = connection
        self.told = 0
        """How many messages came that are no answers."""
        self.news = asyncio.Event()
        self.lost: Exception | None = None
        """Why nothing more can be asked, if that is so."""
        self._exchanges = connection if isinstance(connection, ExchangeConnection) else None
        self._questions = list(script.questions)
        self._log = log
        self._methods: dict[int, str] = {}
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        connection.start(self)

    def expect(self, number: int, method: str) -> asyncio.Future[Any]:
        """Return what will be the answer to a request."""
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._methods[number] = method
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self.lost is not None:
            future.set_exception(self.lost)
        return future

    def send(self, data: bytes, entry: Entry) -> None:
        """Send a message."""
        if self._exchanges is not None and entry.revision in MODERN_REVISIONS:
            self._exchanges.use_revision(entry.revision)
        self.connection.send([data])

    # --- what a connection calls

    def messages_received(self, messages: Sequence[Received]) -> None:
        """Take what the server says."""
        for data in messages:
            if isinstance(data, bytes):
                self._take_data(data)
                continue
            error = RemoteProtocolError(f"the server sent more than {data.limit} bytes at once")
            self._fail_all(error)  # whose answer it was cannot be told

    def end_of_input(self) -> None:
        """The server says nothing more; why, `connection_lost` tells."""

    def connection_lost(self, reason: Exception | None) -> None:
        """Nobody will answer any more."""
        self._lose(reason or ConnectionClosed("the connection was closed"))

    def is_waiting(self, request_id: Any) -> bool:
        """Tell whether a request has no answer yet."""
        waiting = self._waiting.get(request_id)
        return waiting is not None and not waiting.done()

    def request_failed(self, request_id: Any, error: Exception) -> None:
        """A request gets no answer, or has it in the body of a refusal."""
        waiting = self._waiting.get(request_id)
        if waiting is None or waiting.done():
            return
        refusal = _refusal_in(error)
        if refusal is None:
            waiting.set_exception(error)
        else:
            self._take(encode_json({**refusal, "id": request_id}), refusal, request_id)

    def request_held(self, request_id: Any) -> None:
        """Somebody logs in."""

    def request_released(self, request_id: Any) -> None:
        """Nobody does any more."""

    def session_lost(self, reason: Exception) -> None:
        """The server has forgotten the session."""
        self._lose(reason)

    def may_resume(self) -> bool:
        """What was cut is gone on with."""
        return True

    def stream_resumed(self, method: str | None, reason: str, *, is_whole: bool) -> None:
        """It was."""

    def _lose(self, reason: Exception) -> None:
        self.lost = reason
        self._fail_all(reason)
        self.news.set()

    def _fail_all(self, reason: Exception) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(reason)

    def _take_data(self, data: bytes) -> None:
        try:
            decoded = msgspec.json.decode(data)
        except UNDECODABLE:
            self._log.junk(data)
            return
        for message in decoded if isinstance(decoded, list) else [decoded]:
            if isinstance(message, dict):
                raw = encode_json(message) if isinstance(decoded, list) else data
                number = message.get("id")
                # What else stands there is none that was sent.
                self._take(raw, message, number if isinstance(number, int) else None)

    def _take(self, data: bytes, message: dict[str, Any], number: Any) -> None:
        self._log.message("server", data)
        if "method" not in message:
            self._take_answer(message, number)
            return
        self.told += 1
        self.news.set()
        if "id" in message:
            self._answer(message)

    def _take_answer(self, message: dict[str, Any], number: Any) -> None:
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        result = message.get("result")
        if self._exchanges is not None and isinstance(result, dict):
            self._note(self._methods[number], result, self._exchanges)
        waiting.set_result(message)

    def _note(self, method: str, result: Mapping[str, Any], exchanges: ExchangeConnection) -> None:
        """Note what the headers of later requests repeat."""
        revision = result.get("protocolVersion")
        if method == INITIALIZE and isinstance(revision, str):
            exchanges.use_revision(revision)
        elif method == TOOLS_LIST and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                try:
                    exchanges.mirror_parameters(
                        tool["name"], mirrored_parameters(tool["inputSchema"])
                    )
                except (KeyError, TypeError, ValueError):  # which is for the comparison to say
                    continue

    def _answer(self, question: dict[str, Any]) -> None:
        """Answer what the server asks as the recorded client did."""
        recorded = self._answer_to(question)
        number = question["id"]
        if recorded is None:
            reason = f"the recorded client was not asked this: {question['method']}"
            data = encode_error(number, METHOD_NOT_FOUND, reason)
        else:
            data = encode_json({**recorded, "id": number})
        self._log.message("client", data)
        self.connection.send([data])

    def _answer_to(self, question: dict[str, Any]) -> dict[str, Any] | None:
        of_method = [each for each in self._answered() if each.method == question["method"]]
        same = [each for each in of_method if fits(_asked(each.message), _asked(question))]
        for entry in same or of_method:
            self._questions.remove(entry)
            assert entry.answer is not None
            answer: dict[str, Any] = entry.answer.message
            return answer
        return None

    def _answered(self) -> Iterable[Entry]:
        return (each for each in self._questions if each.answer is not None)


def _asked(message: dict[str, Any]) -> Any:
    params = message.get("params")
    if not isinstance(params, dict):
        return params
    return {name: value for name, value in params.items() if name != "_meta"}


def _refusal_in(error: Exception) -> dict[str, Any] | None:
    """Return the JSON-RPC error in the body of an HTTP error."""
    if not isinstance(error, HttpStatusError):
        return None
    try:
        message = msgspec.json.decode(error.body.encode())
    except UNDECODABLE:
        return None
    return message if isinstance(message, dict) and "error" in message else None
