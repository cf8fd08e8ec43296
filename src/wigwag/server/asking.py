"""Asks the client in the middle of a call; what both eras have in common, and the legacy way.

A legacy client is sent a request on the channel of the call. How a modern one is asked is in
`replay`.
Spec: client, basic/utilities/mrtr
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import secrets
import typing
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
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
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.gates import client_declares
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    METHODS,
    ClientCapabilities,
    CreateMessageRequestParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    has_member,
)
from wigwag.schema.capabilities import SamplingCapability
from wigwag.server.input_required import InputRequired, Unwinding
from wigwag.server.plain_schema import decode_hook, encode_hook
from wigwag.server.questions import (
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

_is_in_once = ContextVar("_is_in_once", default=False)


class Asking(ABC):
    """How the handler of one request asks its client.

    Args:
        request: The request.
        connection: What serves it.
        loop: The event loop that everything but plain functions runs on.

    Attributes:
        responses: The answers to what the handler asked by hand, by its keys.
        state: What the handler wanted to have back when it asked by hand.
        results: The names of the results remembered so far.
    """

    def __init__(
        self, request: RequestReceived, connection: Dispatch, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._request = request
        self._connection = connection
        self._loop = loop
        self.responses: dict[str, Any] = {}
        self.state: Any = None
        self.results = Names()
        self._remembered: dict[str, Raw] = {}
        self._questions = Names()
        self._answers: dict[str, Answer] = {}
        """What was answered in this run of the handler and in those before."""
        self._unclaimed: dict[str, str] = {}
        """The digests of questions of earlier runs that this one has yet to come to."""
        self._task = _current_task()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    def key_of(self, question: Question[Any], wanted: str) -> str:
        """Return what a question goes by: what it went by before, if an earlier run has asked it.

        It is known again by what it asks, so that tasks beside each other may come to theirs in
        another order than before.

        Raises:
            RuntimeError: It comes in the place of another one, and nothing ran beside it.
        """
        for key, digest in self._unclaimed.items():
            if digest == question.digest and self._questions.are_akin(key, wanted):
                del self._unclaimed[key]
                self._questions.claim(key)
                return key
        key = self._questions.next(wanted)
        if key in self._unclaimed and _current_task() in (None, self._task):
            raise RuntimeError(_other_question(key))
        return self._questions.take(wanted, besides=self._unclaimed)

    def _begin_anew(self) -> None:
        """Expect the questions of earlier runs."""
        self._questions, self.results = Names(), Names()
        self._unclaimed = {key: answer.digest for key, answer in self._answers.items()}

    @abstractmethod
    async def ask(self, question: Question[T], key: str) -> T:
        """Ask one question, or return its answer if there is one.

        Raises:
            QuestionFailed: There is no answer to be had.
            RequestFailed: The client did not declare that it answers such questions.
        """

    @abstractmethod
    async def ask_by_hand(self, asked: InputRequired) -> InputRequiredResult | None:
        """Ask what a handler has returned.

        Returns:
            What to answer the request with; `None` if the handler is to be run again.
        """

    def unwound(self) -> InputRequiredResult | None:
        """Return what to answer the request with, if the handler was unwound to ask."""
        return None

    async def ask_all(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """Ask several questions in one round, and return the answers by the same keys."""
        answers = await self._gather(self.ask(q, key) for key, q in questions.items())
        return dict(zip(questions, answers, strict=True))

    async def _gather(self, askings: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        tasks = [self._loop.create_task(asking) for asking in askings]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # when one fails, nobody waits for the others
                task.cancel()

    # --- work that is not done again

    async def once(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function returned, calling it only the first time.

        Raises:
            TypeError: What it returned has no form in JSON, or is not what it declares.
        """
        known = self._remembered.get(name)
        if known is None:
            token = _is_in_once.set(True)
            try:
                value = function(*args)
                value = await value if inspect.isawaitable(value) else value
            finally:
                _is_in_once.reset(token)
            known = self._remember(name, value)
        return _as_returned(known, function)

    def once_in_thread(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Do what `once` does in the thread of a plain function, which waits."""
        known = self._remembered.get(name)
        if known is None:
            token = _is_in_once.set(True)
            try:
                value = function(*args)
                if inspect.isawaitable(value):
                    value = self.wait(partial(_resolved, value))
            finally:
                _is_in_once.reset(token)
            known = self._remember(name, value)
        return _as_returned(known, function)

    def _remember(self, name: str, value: Any) -> Raw:
        try:
            known = Raw(msgspec.json.encode(value, enc_hook=encode_hook))
        except (TypeError, NotImplementedError, ValueError, RecursionError) as error:
            raise TypeError(f"the result of {name!r} cannot be remembered: {error}") from None
        self._remembered[name] = known
        return known

    # --- threads, and the end

    def wait(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the event loop while the thread of a plain function waits for it."""
        outcome: concurrent.futures.Future[T] = concurrent.futures.Future()

        def begin() -> None:
            if self._is_closed:
                outcome.set_exception(Unwinding("the call has ended"))
                return
            task = self._loop.create_task(start())
            self._tasks.add(task)
            task.add_done_callback(settle)

        def settle(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                outcome.set_exception(Unwinding("the call has ended"))
                return
            error = task.exception()
            if error is None:
                outcome.set_result(task.result())
            else:
                outcome.set_exception(error)

        self._loop.call_soon_threadsafe(begin)
        return outcome.result()

    def close(self) -> None:
        """Stop asking: the handler has come to an end."""
        self._is_closed = True
        for task in list(self._tasks):
            task.cancel()

    def _check_open(self) -> None:
        if self._is_closed:
            raise QuestionFailed("the call has been answered: nothing can be asked any more")

    def check_may_ask(self) -> None:
        """See to it that it is not asked in what must run only once, and not again for this.

        Raises:
            RuntimeError: It is.
        """
        if _is_in_once.get():
            raise RuntimeError("what `once` runs cannot ask the client: ask before, and pass it in")


class Names:
    """Hands out names, none twice.

    A name that is wanted again gets a number. So a handler that is run again and takes the same way
    gets the same names.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def next(self, wanted: str, *, besides: Container[str] = ()) -> str:
        """Return the name that `take` would return."""
        name, count = wanted, 1
        while name in self._taken or name in besides:
            count += 1
            name = f"{wanted}-{count}"
        return name

    def take(self, wanted: str, *, besides: Container[str] = ()) -> str:
        """Return a name that nobody has, and that is none of some others."""
        name = self.next(wanted, besides=besides)
        self._taken.add(name)
        return name

    def claim(self, name: str) -> None:
        """See to it that nobody else gets a name."""
        self._taken.add(name)

    @staticmethod
    def are_akin(name: str, wanted: str) -> bool:
        """Tell whether a name is what `take` may have returned for what was wanted."""
        rest = name.removeprefix(wanted)
        return name.startswith(wanted) and (not rest or (rest[0] == "-" and rest[1:].isdecimal()))


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
        self._check_open()
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
        self._check_open()
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


def without_undeclared_context(
    params: CreateMessageRequestParams, request: RequestReceived
) -> CreateMessageRequestParams:
    """Leave out `include_context` where the client did not say that it knows it.

    Spec: client/sampling#capabilities
    """
    sampling = request.client_capabilities.sampling
    is_declared = sampling is not UNSET and sampling.context is not UNSET
    if is_declared or not has_member(SamplingCapability, "context", request.revision):
        return params
    return msgspec.structs.replace(params, include_context=UNSET)


def _current_task() -> asyncio.Task[Any] | None:
    """Return the task that runs; `None` in a thread that no event loop runs in."""
    return None if asyncio._get_running_loop() is None else asyncio.current_task()


def _other_question(key: str) -> str:
    return (
        f"the question {key!r} is not the one that was answered: when a call is run again, it must "
        "ask the same things in the same words; let `once` remember what changes from run to run"
    )


def _in_words(needed: ClientCapabilities) -> str:
    """Name capabilities: "elicitation" or "elicitation.url"."""
    names: list[str] = []
    for name, value in msgspec.to_builtins(needed).items():
        parts = [f"`{name}.{part}`" for part in value] if isinstance(value, dict) else []
        names += parts or [f"`{name}`"]
    return ", ".join(names)


async def _resolved(value: Any) -> Any:
    return await value


def _as_returned(known: Raw, function: Callable[..., Any]) -> Any:
    """Return a remembered result as the function declares it, or else as plain JSON."""
    try:
        kind = typing.get_type_hints(function, include_extras=True).get("return", Any)
    except (NameError, TypeError):
        kind = Any
    if typing.get_origin(kind) in (Awaitable, Coroutine):  # which was awaited
        kind = typing.get_args(kind)[-1]
    try:
        return msgspec.json.decode(known, type=kind, dec_hook=decode_hook)
    except (*UNDECODABLE, NotImplementedError) as error:
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name} returned something that it does not declare: {error}") from None
