"""Asks the client in the middle of a call: what both eras have in common.

How a legacy client is asked is in `asking_directly`, and how a modern one is in `replay`.
Spec: client, basic/utilities/mrtr
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import typing
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw

from wigwag.errors import (
    QuestionFailed,
)
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    CreateMessageRequestParams,
    InputRequiredResult,
    has_member,
)
from wigwag.schema.capabilities import SamplingCapability
from wigwag.server.annotations.plain_schema import decode_hook, encode_hook
from wigwag.server.asking.input_required import InputRequired, Unwinding
from wigwag.server.asking.questions import (
    Answer,
    Question,
)

T = TypeVar("T")

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
        self._task = current_task()
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
        if key in self._unclaimed and current_task() in (None, self._task):
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

    def check_open(self) -> None:
        """See to it that the call has not ended.

        Raises:
            QuestionFailed: It has been answered.
        """
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


def current_task() -> asyncio.Task[Any] | None:
    """Return the task that runs; `None` in a thread that no event loop runs in."""
    return None if asyncio._get_running_loop() is None else asyncio.current_task()


def _other_question(key: str) -> str:
    return (
        f"the question {key!r} is not the one that was answered: when a call is run again, it must "
        "ask the same things in the same words; let `once` remember what changes from run to run"
    )


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
