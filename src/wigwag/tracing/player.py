"""Plays the part of a recorded server for one client."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from wigwag.jsonrpc.codec import UNDECODABLE, encode_error
from wigwag.jsonrpc.codes import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from wigwag.schema import (
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_PROGRESS,
    SUBSCRIPTION_ID_KEY,
    SUBSCRIPTIONS_LISTEN,
)
from wigwag.schema.error_codes import UNSUPPORTED_PROTOCOL_VERSION
from wigwag.tracing.conversation import Entry
from wigwag.tracing.matching import NotRecorded, Prompter, asked_of
from wigwag.tracing.script import Cue, Junk, Line, Script, meta_of

__all__ = ["Manner", "Player", "Said", "Stage"]

_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_OK: Final = 200
_BAD_REQUEST: Final = 400
_MODERN_STATUSES: Final = {METHOD_NOT_FOUND: 404, UNSUPPORTED_PROTOCOL_VERSION: _BAD_REQUEST}


class Manner(Struct, frozen=True, kw_only=True):
    """How a script is played.

    Attributes:
        pace: How much of the recorded times is waited: 0 for none, 1 for all.
        faults: Whether what the server did wrong is done again: silence, junk, a crash.
    """

    pace: float = 0.0
    faults: bool = False


class Said(NamedTuple):
    """Something that the server says.

    Attributes:
        data: The message; with junk it is that.
        request_id: The client's request on whose way it goes; `None` for none.
        is_answer: Whether it answers that request.
        status: The HTTP status of an answer.
        is_event: Whether the recorded answer came as a stream of events.
    """

    data: bytes
    request_id: Any
    is_answer: bool = False
    status: int = _OK
    is_event: bool = False


Say = Callable[[Said], None]


class _Way(NamedTuple):
    """How to speak on the way of a request."""

    say: Say
    request_id: Any
    token: Any  # for its progress; `None` where none is wanted


class Stage:
    """What the players for one client share: over HTTP each of its messages has its own.

    Args:
        script: What is played.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.prompter = Prompter(script)
        # By the `id()` of the recorded request, and by id of the question.
        self.ways: dict[int, _Way] = {}
        self.waiting: dict[str, asyncio.Future[None]] = {}

    def free_id(self, recorded: Any) -> Any:
        """Return an id for a question: as recorded, unless a question with that is still open."""
        numbers = itertools.count(2)
        free = recorded
        while _key(free) in self.waiting:
            free = f"{recorded}-{next(numbers)}"
        return free


class Player:
    """Answers one client as the recorded server did.

    Args:
        stage: Where; what has been played there counts.
        say: Called with all that is said.
        manner: How it is played.
        on_exit: Called with an exit code where the recorded server left instead of an answer.
    """

    def __init__(
        self,
        stage: Stage,
        say: Say,
        *,
        manner: Manner,
        on_exit: Callable[[int], None] | None = None,
    ) -> None:
        self._stage = stage
        self._say = say
        self._manner = manner
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[str, asyncio.Task[None]] = {}

    def open(self) -> None:
        """Send what was sent before anything was asked."""
        if self._manner.faults:
            for junk in self._stage.script.opening:
                self._say(Said(junk.text.encode(), None))

    def receive(self, data: bytes) -> None:
        """Take a message of the client, or several."""
        try:
            message = msgspec.json.decode(data)
        except UNDECODABLE as error:
            self._refuse(None, PARSE_ERROR, f"Parse error: {error}")
            return
        if message == []:
            self._refuse(None, INVALID_REQUEST, "Invalid Request: an empty array")
        for each in message if isinstance(message, list) else [message]:
            self._take(each)

    def cancel(self, request_id: Any) -> None:
        """Play no more for a request."""
        task = self._by_id.get(_key(request_id))
        if task is not None:
            task.cancel()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being played."""
        return not self._tasks

    async def idle(self) -> None:
        """Wait until nothing is being played."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def aclose(self) -> None:
        """Play nothing more."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _take(self, message: Any) -> None:
        match message:
            case {"method": str(), "id": str() | int()}:
                self._take_request(message)
            case {"method": str(method)} if "id" not in message:
                self._take_notification(method, message.get("params"))
            case {"id": request_id} if "method" not in message:
                waiting = self._stage.waiting.pop(_key(request_id), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)
            case _:
                self._refuse(None, INVALID_REQUEST, "Invalid Request: this is no message")

    def _take_request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        asked = asked_of(message)
        try:
            cue = self._stage.prompter.find(asked)
        except NotRecorded as miss:
            status = self._status_of(miss.code, is_modern=asked.revision is not None)
            self._refuse(request_id, miss.code, miss.message, miss.data, status=status)
            return
        if cue is None:
            data = b'{"jsonrpc":"2.0","id":%b,"result":{}}' % msgspec.json.encode(request_id)
            self._say(Said(data, request_id, is_answer=True))
            return
        way = _Way(self._say, request_id, meta_of(asked.params).get("progressToken"))
        self._by_id[_key(request_id)] = self._start(self._answer(cue, way))

    def _take_notification(self, method: str, params: Any) -> None:
        if method == NOTIFICATIONS_CANCELLED and isinstance(params, dict):
            self.cancel(params.get("requestId"))
        cue = self._stage.prompter.find_notification(method)
        if cue is not None:
            self._start(self._play(cue, None))

    def _start(self, playing: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._loop.create_task(playing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, cue: Cue, way: _Way) -> None:
        ways, key = self._stage.ways, id(cue.entry)
        ways[key] = way
        try:
            await self._play(cue, way)
            if not cue.is_answered:
                await self._leave_unanswered(cue, way)
        finally:
            if ways.get(key) is way:
                del ways[key]
            self._by_id.pop(_key(way.request_id), None)

    async def _leave_unanswered(self, cue: Cue, way: _Way) -> None:
        if self._manner.faults and self._is_last_word(cue) and self._on_exit is not None:
            self._on_exit(self._stage.script.exit_code or 0)
        elif self._manner.faults or cue.entry.method == SUBSCRIPTIONS_LISTEN:
            await self._loop.create_future()  # until it is taken back
        else:
            reason = "Internal error: in the recording, the server never answered this"
            self._refuse(way.request_id, INTERNAL_ERROR, reason)

    def _is_last_word(self, cue: Cue) -> bool:
        """Tell whether the server left instead of an answer."""
        return self._stage.script.exit_code is not None and not any(
            _at(line) > cue.entry.at for each in self._stage.script.cues for line in each.lines
        )

    async def _play(self, cue: Cue, way: _Way | None) -> None:
        then = cue.entry.at
        questions: dict[int, asyncio.Future[None]] = {}  # by the `id()` of what was recorded
        for line in cue.lines:
            if isinstance(line, Line):
                for question in line.after:
                    if id(question) in questions:
                        await asyncio.wait([questions[id(question)]])
                    then = max(then, question.answer.at if question.answer else then)
            if self._manner.pace:
                await asyncio.sleep(max(0.0, _at(line) - then) * self._manner.pace)
            then = _at(line)
            if isinstance(line, Line):
                self._say_line(line, cue, way, questions)
            elif self._manner.faults:
                self._say(Said(line.text.encode(), None))

    def _say_line(
        self,
        line: Line,
        cue: Cue,
        way: _Way | None,
        questions: dict[int, asyncio.Future[None]],
    ) -> None:
        entry = line.entry
        if line.request is None:
            way = None
        elif line.request is not cue.entry:
            way = self._stage.ways.get(id(line.request))
            if way is None:  # nobody has asked for it
                return
        if entry.method == NOTIFICATIONS_PROGRESS and (way is None or way.token is None):
            return
        own_id = None
        if entry.kind == "request":
            own_id = self._stage.free_id(entry.id)
            waiting = questions[id(entry)] = self._loop.create_future()
            self._stage.waiting[_key(own_id)] = waiting
        is_answer = entry.is_answer
        part = entry.record.http
        said = Said(
            _rewritten(entry, way, own_id),
            None if way is None else way.request_id,
            is_answer=is_answer,
            status=part.status if part is not None and part.status and is_answer else _OK,
            is_event=part is not None
            and part.headers.get("content-type", "").startswith("text/event-stream"),
        )
        (self._say if way is None else way.say)(said)

    def _status_of(self, code: int, *, is_modern: bool) -> int:
        """Return the HTTP status of a refusal, by which clients tell the eras of servers."""
        if not is_modern:
            return _OK
        if not self._stage.script.modern:
            return _BAD_REQUEST  # as those say that know nothing of it
        return _MODERN_STATUSES.get(code, _OK)

    def _refuse(
        self,
        request_id: Any,
        code: int,
        message: str,
        data: Any = None,
        *,
        status: int | None = None,
    ) -> None:
        if status is None:
            status = _BAD_REQUEST if request_id is None else _OK
        error = encode_error(request_id, code, message, msgspec.UNSET if data is None else data)
        self._say(Said(error, request_id, is_answer=True, status=status))


def _at(line: Line | Junk) -> float:
    return line.at if isinstance(line, Junk) else line.entry.at


def _rewritten(entry: Entry, way: _Way | None, own_id: Any) -> bytes:
    """Return a message as it was recorded, but for the ids of now."""
    text: Any = entry.record.message
    if bytes(text).lstrip()[:1] == b"[":  # one of a batch
        text = json.dumps(entry.message).encode()
    members = _MEMBERS.decode(text)
    if entry.kind == "request":
        members["id"] = _raw(own_id)
    if way is None:
        return msgspec.json.encode(members)
    if entry.is_answer:
        members["id"] = _raw(way.request_id)
    part = "result" if entry.is_answer else "params"
    if part in members and isinstance(entry.message.get(part), dict):
        inside = _MEMBERS.decode(members[part])
        if entry.method == NOTIFICATIONS_PROGRESS and not entry.is_answer:
            inside["progressToken"] = _raw(way.token)
        meta = entry.message[part].get("_meta")
        if isinstance(meta, dict) and SUBSCRIPTION_ID_KEY in meta:
            inside["_meta"] = _raw({**meta, SUBSCRIPTION_ID_KEY: way.request_id})
        members[part] = Raw(msgspec.json.encode(inside))
    return msgspec.json.encode(members)


def _raw(value: Any) -> Raw:
    return Raw(msgspec.json.encode(value))


def _key(value: Any) -> str:
    """Return an id with its JSON type, so that 1 and "1" differ."""
    return json.dumps(value, sort_keys=True)
