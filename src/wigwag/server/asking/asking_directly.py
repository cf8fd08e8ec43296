"""Asks legacy clients, who are sent requests on the channel of the call that is being served.

Spec: 2025-11-25 client
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from wigwag.errors import (
    LocalProtocolError,
    QuestionFailed,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
)
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.gates import client_declares
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    METHODS,
    ClientCapabilities,
    CreateMessageRequestParams,
    ElicitRequestURLParams,
)
from wigwag.server.annotations.plain_schema import encode_hook
from wigwag.server.asking.asking import Asking, without_undeclared_context
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.asking.questions import (
    Answer,
    AnswerRefused,
    AnswerUnfit,
    Question,
    as_question,
    read_by_shape,
)

T = TypeVar("T")

# A handler that asks by hand and never has enough is broken.
MAX_ROUNDS: Final = 16


class AskingDirectly(Asking):
    """Asks the client of a legacy session, by requests.

    Args:
        request: The request whose handler asks.
        connection: What serves it.
        loop: The event loop.
        limit: Returns the limit that runs for the handler, if there is one. It stands still while
            the client is asked: people take their time.
    """

    def __init__(
        self,
        request: RequestReceived,
        connection: Dispatch,
        loop: asyncio.AbstractEventLoop,
        limit: Callable[[], asyncio.Timeout | None] = lambda: None,
    ) -> None:
        super().__init__(request, connection, loop)
        self._rounds = 0
        self._pause = _Pause(loop, limit)

    async def ask(self, question: Question[T], key: str) -> T:
        """Ask one question; a form that does not fit is asked once more.

        Raises:
            QuestionFailed: The client cannot be asked, refused, or answered something else.
        """
        self.check_open()
        known = self._answers.get(key)
        if known is not None:  # in an earlier run, which then asked by hand
            return question.read(known.value)
        answer = await self._answer_to(question)
        self._answers[key] = Answer(question.digest, answer)
        return question.read(answer)

    async def _answer_to(self, question: Question[Any]) -> Raw:
        """Return an answer that can be read."""
        answer = await self._request_of(question)
        try:
            question.read(answer)
        except AnswerUnfit:
            answer = await self._request_of(question)
        except AnswerRefused as error:
            raise QuestionFailed(f"the client's answer is no use: {error}") from None
        else:
            return answer
        try:
            question.read(answer)
        except AnswerRefused as error:
            raise QuestionFailed(f"the client's answer is no use: {error}") from None
        return answer

    async def ask_by_hand(self, asked: InputRequired) -> None:
        """Ask at once, and let the handler be run again with the answers.

        Raises:
            QuestionFailed: There is no answer to one of them, or the handler never has enough.
        """
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            raise QuestionFailed(f"the handler still asks after {MAX_ROUNDS} rounds")
        self.check_open()
        state = msgspec.json.encode(asked.state, enc_hook=encode_hook)
        questions = {key: as_question(what) for key, what in asked.questions.items()}
        answers = await self._gather(self._answer_to(question) for question in questions.values())
        found = map(read_by_shape, answers)
        self.responses = dict(zip(questions, found, strict=True))
        self.state = msgspec.json.decode(state)
        self._begin_anew()

    async def _request_of(self, question: Question[Any]) -> Raw:
        self._check(question)
        params = self._worded(question)
        asking = self._connection.ask(question.method, params, timeout=question.timeout)
        task = self._loop.create_task(asking)
        self._tasks.add(task)
        try:
            with self._pause:
                return await task
        except RequestFailed as error:
            raise QuestionFailed(f"the client refused {question.method}: {error}") from error
        except (RequestTimedOut, LocalProtocolError, RemoteProtocolError) as error:
            raise QuestionFailed(f"the client cannot be asked: {error}") from error
        finally:
            self._tasks.discard(task)

    def _check(self, question: Question[Any]) -> None:
        revision = self._request.revision
        if not METHODS[question.method].may_be_sent_by("server", revision):
            raise QuestionFailed(
                f"the client cannot be asked: there is no {question.method} in {revision}"
            )
        session = self._connection.protocol.session
        if session is not None and session.is_assumed:
            raise QuestionFailed(
                f"the client cannot be asked: {question.method} of {revision} "
                "needs a session, and this server keeps none"
            )
        if not client_declares(self._request.client_capabilities, question.needed):
            wanted = _in_words(question.needed)
            raise QuestionFailed(f"the client cannot be asked: it did not declare {wanted}")

    def _worded(self, question: Question[Any]) -> Struct | None:
        """Return the params as this client takes them."""
        params = question.params
        if isinstance(params, ElicitRequestURLParams) and params.elicitation_id is UNSET:
            given = getattr(question, "elicitation_id", None)
            name = secrets.token_urlsafe(16) if given is None else given
            return msgspec.structs.replace(params, elicitation_id=name)
        if isinstance(params, CreateMessageRequestParams):
            return without_undeclared_context(params, self._request)
        return params


class _Pause:
    """Lets the limit of a handler stand still for as long as the client is asked anything."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, limit: Callable[[], asyncio.Timeout | None]
    ) -> None:
        self._loop = loop
        self._limit_now = limit
        self._limit: asyncio.Timeout | None = None
        self._left = 0.0
        self._waiting = 0

    def __enter__(self) -> None:
        self._waiting += 1
        if self._waiting > 1:
            return
        limit = self._limit_now()
        when = None if limit is None else limit.when()
        if limit is not None and when is not None:
            self._limit, self._left = limit, when - self._loop.time()
            limit.reschedule(None)

    def __exit__(self, *_: object) -> None:
        self._waiting -= 1
        if self._waiting == 0 and self._limit is not None:
            with suppress(RuntimeError):  # the handler did not wait for the answer, and has ended
                self._limit.reschedule(self._loop.time() + self._left)
            self._limit = None


def _in_words(needed: ClientCapabilities) -> str:
    """Name capabilities: "elicitation" or "elicitation.url"."""
    names: list[str] = []
    for name, value in msgspec.to_builtins(needed).items():
        parts = [f"`{name}.{part}`" for part in value] if isinstance(value, dict) else []
        names += parts or [f"`{name}`"]
    return ", ".join(names)
