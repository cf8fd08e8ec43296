"""Asks modern clients, who are only ever answered: the call is replayed.

When a question is reached that has no answer yet, the handler is unwound, and the client gets the
question as the result of its call, with a sealed memory of what was answered before. It makes the
call again with the answer; the handler is run from its start, and what is answered returns at once.

Spec: basic/utilities/mrtr
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.events import RequestReceived
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    RESULT_INPUT_REQUIRED,
    CreateMessageRequestParams,
    InputRequest,
    InputRequiredResult,
    project,
)
from wigwag.server.annotations.plain_schema import encode_hook
from wigwag.server.asking.asking import Asking, current_task, without_undeclared_context
from wigwag.server.asking.input_required import InputRequired, Unwinding
from wigwag.server.asking.memory import Keeper, Memory, inputs_of
from wigwag.server.asking.questions import (
    Answer,
    AnswerRefused,
    Question,
    as_question,
    read_by_shape,
)

if TYPE_CHECKING:
    from wigwag.server.principal import Principal

T = TypeVar("T")

# Turns of the event loop between the first question of a round and the unwinding. Whoever asks
# meanwhile is part of the round; and what fails meanwhile, beside the question, is a failure.
_TURNS: Final = 3


class Replay(Asking):
    """Asks the client of a modern request.

    Args:
        request: The request.
        connection: What serves it.
        loop: The event loop.
        keeper: What seals the memory of the call.
        principal: Who makes the request, if that is known.

    Raises:
        RequestFailed: The request brings a state that is not one for it.
    """

    def __init__(
        self,
        request: RequestReceived,
        connection: Dispatch,
        loop: asyncio.AbstractEventLoop,
        keeper: Keeper,
        principal: Principal | None = None,
    ) -> None:
        super().__init__(request, connection, loop)
        self._keeper = keeper
        self._principal = principal
        params = inputs_of(request)
        responses = {} if params.input_responses is UNSET else params.input_responses
        self._unasked: dict[str, Raw] = {}
        if params.request_state is UNSET:
            memory = Memory()
            # Answers without a state: of a client that knows what it is going to be asked.
            self._unasked = {**responses}
        else:
            memory = keeper.open(
                params.request_state, request, now=time.time(), principal=principal
            )
        self._remembered = memory.once
        self._answers = memory.answers
        for key, digest in memory.asked.items():
            if key in responses:
                self._answers[key] = Answer(digest, responses[key])
        self._begin_anew()
        self._given = memory.given
        if memory.given is not UNSET:
            self.state = msgspec.json.decode(memory.given)
        self._replies = memory.replies
        for key, answer in responses.items():
            if key not in memory.asked and read_by_shape(answer) is not None:
                self._replies[key] = answer
        self.responses = {key: read_by_shape(answer) for key, answer in self._replies.items()}
        self._pending: dict[str, tuple[Question[Any], asyncio.Future[Any]]] = {}
        self._has_unwound = False
        self._is_unwinding_due = False
        self._working = 0

    async def ask(self, question: Question[T], key: str) -> T:
        """Return the answer to a question, if there is one, or unwind the handler.

        Raises:
            RequestFailed: The client did not declare that it answers such questions.
        """
        self.check_open()
        if key in self._unasked:
            self._answers[key] = Answer(question.digest, self._unasked.pop(key))
        known = self._answers.get(key)
        if known is not None:
            try:
                return question.read(known.value)
            except AnswerRefused:  # so it is asked again
                del self._answers[key]
        if self._has_unwound:
            self._leave_quietly()
            await asyncio.sleep(0)  # a handler that never gives up must not stop the event loop
            raise Unwinding("the client is about to be asked something else")
        self._connection.protocol.require_client_capability(self._request, question.needed)
        waiter: asyncio.Future[T] = self._loop.create_future()
        self._pending[key] = question, waiter
        self._unwind_soon()
        try:
            return await waiter
        except asyncio.CancelledError:  # whoever asked wants it no more
            if not self._has_unwound:
                self._pending.pop(key, None)
            raise
        except Unwinding:
            self._leave_quietly()
            raise

    def check_open(self) -> None:
        """See to it that the call has not ended.

        Raises:
            Unwinding: It is to be made again; what the handler has left behind ends with it.
            QuestionFailed: It has been answered.
        """
        if self._is_closed and self._has_unwound:
            self._leave_quietly()
            raise Unwinding("the call is about to be made again")
        super().check_open()

    def _leave_quietly(self) -> None:
        """Let nobody complain of a task that was unwound and that nobody waits for any more."""
        task = current_task()
        if task is not None:
            task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def once(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return what a function returned; no handler is unwound while one is at work."""
        self._working += 1
        try:
            return await super().once(name, function, *args)
        finally:
            self._working -= 1
            self._unwind_soon()

    def _unwind_soon(self) -> None:
        """Unwind when everybody has asked who is about to."""
        if self._pending and not self._is_unwinding_due:
            self._is_unwinding_due = True
            self._loop.call_soon(self._unwind, _TURNS)

    def _unwind(self, turns: int) -> None:
        if turns > 1:
            self._loop.call_soon(self._unwind, turns - 1)
            return
        self._is_unwinding_due = False
        if self._working or self._is_closed:
            return
        self._pending = {k: asked for k, asked in self._pending.items() if not asked[1].done()}
        self._has_unwound = bool(self._pending)
        for key, (_, waiter) in self._pending.items():
            waiter.set_exception(Unwinding(f"the client is about to be asked {key!r}"))
            waiter.exception()  # seen, even if whoever asked is cancelled this very moment

    def unwound(self) -> InputRequiredResult | None:
        """Return the questions, if the handler was unwound for them.

        Raises:
            RequestFailed: There is too much to remember.
        """
        if not self._has_unwound:
            return None
        questions = {key: question for key, (question, _) in self._pending.items()}
        asked = {key: question.digest for key, question in questions.items()}
        memory = Memory(asked=asked, given=self._given, replies=self._replies)
        return self._required(questions, memory)

    async def ask_by_hand(self, asked: InputRequired) -> InputRequiredResult:
        """Return the questions that a handler asks by hand.

        Raises:
            RequestFailed: The client did not declare that it answers one of them, or there is too
                much to remember.
        """
        questions = {key: as_question(what) for key, what in asked.questions.items()}
        for question in questions.values():
            self._connection.protocol.require_client_capability(self._request, question.needed)
        memory = Memory()
        if asked.state is not None:
            memory.given = Raw(msgspec.json.encode(asked.state, enc_hook=encode_hook))
        return self._required(questions, memory)

    def _required(
        self, questions: Mapping[str, Question[Any]], memory: Memory
    ) -> InputRequiredResult:
        memory.answers, memory.once = self._answers, self._remembered
        state: str | UnsetType = UNSET
        if memory != Memory():
            state = self._keeper.seal(
                memory, self._request, now=time.time(), principal=self._principal
            )
        return InputRequiredResult(
            result_type=RESULT_INPUT_REQUIRED,
            input_requests={key: self._worded(q) for key, q in questions.items()} or UNSET,
            request_state=state,
        )

    def _worded(self, question: Question[Any]) -> InputRequest:
        params = question.params
        if params is None:
            return InputRequest(method=question.method)
        if isinstance(params, CreateMessageRequestParams):
            params = without_undeclared_context(params, self._request)
        encoded = encode_value(project(params, self._request.revision))
        return InputRequest(method=question.method, params=Raw(encoded))

    def close(self) -> None:
        """Stop asking: whoever still waits is cancelled."""
        super().close()
        for _, waiter in self._pending.values():
            waiter.cancel()
