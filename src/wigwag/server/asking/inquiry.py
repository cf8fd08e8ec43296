"""The part of a handler's context that asks the client, and runs the handler until it is answered.

What it takes to ask is loaded when something is asked: most calls never do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, overload

from msgspec import UNSET

from wigwag.errors import LocalProtocolError, QuestionFailed, RequestFailed, ToolError
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.gates import client_declares
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    METHODS,
    PROMPTS_GET,
    RESOURCES_READ,
    TOOLS_CALL,
    ClientCapabilities,
    ElicitationCapability,
    InputRequiredResult,
    RootsCapability,
    SamplingCapability,
)
from wigwag.server.asking.defaults import ANSWER_TIMEOUT
from wigwag.server.asking.input_required import InputRequired, Unwinding, asked_by

if TYPE_CHECKING:
    from wigwag.schema import CreateMessageResult, ModelPreferences, Root, Tool, ToolChoice
    from wigwag.server.asking.asking import Asking
    from wigwag.server.asking.memory import Keeper
    from wigwag.server.asking.questions import ElicitationOutcome, Messages, Question
    from wigwag.server.principal import Principal
    from wigwag.server.scope import Scope

    # For type checkers alone: making a protocol at run time takes longer than another class.
    class Remembers(Protocol):
        """What asking needs of the server."""

        @property
        def keeper(self) -> Keeper:
            """What keeps the memory of calls between their rounds."""
            ...


T = TypeVar("T")
R = TypeVar("R")

_FORM: Final = ClientCapabilities(elicitation=ElicitationCapability())
_PAGE: Final = ClientCapabilities(elicitation=ElicitationCapability(url={}))
_MODEL: Final = ClientCapabilities(sampling=SamplingCapability())
_MAY_ASK: Final = (TOOLS_CALL, PROMPTS_GET, RESOURCES_READ)
"""The methods of MCP that a modern client can be asked for. Spec: basic/utilities/mrtr"""
_ROOTS: Final = ClientCapabilities(roots=RootsCapability())


class Inquiry:
    """Asks the client of one request.

    Args:
        server: Whose handler asks.
        connection: What serves the request.
        request: The request.
    """

    def __init__(self, server: Remembers, connection: Dispatch, request: RequestReceived) -> None:
        self._server = server
        self._connection = connection
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._asking: Asking | None = None
        self._scope: Scope | None = None
        self._outer: Inquiry | None = None
        self._is_serving = False
        self._has_ended = False
        self._is_over = False
        self.is_blocking_the_loop = False
        """Whether a plain function runs on the event loop, and so cannot wait for anything."""
        self.limit: asyncio.Timeout | None = None
        """The limit that runs for the handler, if there is one."""

    @property
    def principal(self) -> Principal | None:
        """Who makes the request, as far as the server knows."""
        return None

    @property
    def can_elicit(self) -> bool:
        """Whether the client's user can be asked by a form."""
        return self._declares(_FORM)

    @property
    def can_elicit_url(self) -> bool:
        """Whether the client's user can be asked to visit a page."""
        return self._declares(_PAGE)

    @property
    def can_sample(self) -> bool:
        """Whether the client's model can be asked."""
        return self._declares(_MODEL)

    @property
    def can_list_roots(self) -> bool:
        """Whether the client can be asked where it works."""
        return self._declares(_ROOTS)

    @overload
    def elicit(
        self,
        message: str,
        schema: type[T],
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[ElicitationOutcome[T]]: ...
    @overload
    def elicit(
        self,
        message: str,
        schema: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[ElicitationOutcome[dict[str, Any]]]: ...
    @overload
    def elicit(
        self,
        message: str,
        schema: Any,
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[ElicitationOutcome[Any]]: ...
    def elicit(
        self,
        message: str,
        schema: Any = None,
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Any:
        """Ask the user to fill in a form.

        Like all that asks the client, it is awaited in an `async def` handler, while in a plain one
        it waits and returns the answer itself. In the modern revisions the handler is run again
        from its start when the answer comes; `once` is for work that must not be repeated.

        Args:
            message: What is wanted, and why.
            schema: The fields: a dataclass, struct, `TypedDict` or model of plain fields; a mapping
                of names to types; a requested schema; a single type or a list of choices, which
                make a form of one field; or nothing, to have the message agreed to.
            key: What the question goes by on the wire and in the state; else it is numbered.
            timeout: Seconds that a legacy client has to answer; `None` for ever.

        Returns:
            What the user did: `action` is `accept`, `decline` or `cancel`, and `data` has what was
            filled in, as the type asked for.

        Raises:
            TypeError: `schema` has a field that no form can have, or `message` is no text.
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/elicitation
        """
        from wigwag.server.asking.questions import elicit  # noqa: PLC0415 - few calls ask

        return self._put(elicit(message, schema, timeout=timeout), key)

    def elicit_url(
        self,
        message: str,
        url: str,
        elicitation_id: str | None = None,
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[ElicitationOutcome[None]]:
        """Ask the user to visit a page, where they can enter what the client must not see.

        That they accept means that they agreed to, not that they are done there.

        Args:
            message: Why they should.
            url: The page. When the call is run again it must be the same one.
            elicitation_id: What a client of 2025-11-25 knows it by, for `elicitation_complete`;
                made up if it is not given. No other revision has that.
            key: What the question goes by, as for `elicit`.
            timeout: Seconds that a legacy client has to answer, as for `elicit`.

        Raises:
            ValueError: `url` is none.
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/elicitation#url-mode-elicitation-requests
        """
        from wigwag.server.asking.questions import elicit_url  # noqa: PLC0415 - few calls ask

        question = elicit_url(message, url, elicitation_id, timeout=timeout)
        asked: Awaitable[Any] = self._put(question, key)
        return asked

    def sample(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        messages: Messages,
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: ModelPreferences | Sequence[str] | str | None = None,
        tools: Sequence[Tool] | None = None,
        tool_choice: ToolChoice | Literal["auto", "required", "none"] | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[CreateMessageResult]:
        """Ask the client's model.

        Args:
            messages: The conversation to continue: text of the user, messages, or a list of these.
            max_tokens: How long the answer may become.
            system_prompt: The system prompt; the client may use another one.
            temperature: How random the answer is to be.
            stop_sequences: Texts at which the model stops.
            model_preferences: What matters in the choice of the model; or names of models that
                would do, or parts of them.
            tools: What the model may call. It answers that it wants to; whoever asks makes the call
                and asks again with the result.
            tool_choice: Whether it may, must or must not call one.
            include_context: Whose context the client is to add, if it can.
            metadata: For the provider of the model.
            key: What the question goes by, as for `elicit`.
            timeout: Seconds that a legacy client has to answer, as for `elicit`.

        Returns:
            What the model has said; `text` is the text of it.

        Raises:
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/sampling
        """
        from wigwag.server.asking.questions import sample  # noqa: PLC0415 - few calls ask

        question = sample(
            messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            temperature=temperature,
            stop_sequences=stop_sequences,
            model_preferences=model_preferences,
            tools=tools,
            tool_choice=tool_choice,
            include_context=include_context,
            metadata=metadata,
            timeout=timeout,
        )
        asked: Awaitable[CreateMessageResult] = self._put(question, key)
        return asked

    def list_roots(
        self, *, key: str | None = None, timeout: float | None = ANSWER_TIMEOUT
    ) -> Awaitable[list[Root]]:
        """Ask where the client works: the folders that its user has opened to it.

        Args:
            key: What the question goes by, as for `elicit`.
            timeout: Seconds that a legacy client has to answer, as for `elicit`.

        Raises:
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/roots
        """
        from wigwag.server.asking.questions import list_roots  # noqa: PLC0415 - few calls ask

        asked: Awaitable[list[Root]] = self._put(list_roots(timeout=timeout), key)
        return asked

    def ask(
        self, questions: Mapping[str, Question[Any]] | None = None, /, **more: Question[Any]
    ) -> Awaitable[dict[str, Any]]:
        """Ask several things at the same time.

        >>> from wigwag import elicit, list_roots
        >>> async def report(context):
        ...     answers = await context.ask(name=elicit("Whose?", str), roots=list_roots())
        ...     return answers["name"].data, answers["roots"]

        Args:
            questions: What `elicit`, `elicit_url`, `sample` and `list_roots` of `wigwag` return,
                by the keys that they go by.
            more: The same, by keys that are names.

        Returns:
            The answers, by the same keys.

        Raises:
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).
        """
        from wigwag.server.asking.questions import as_question  # noqa: PLC0415 - few calls ask

        asking = self._asker()
        asking.check_may_ask()
        wanted = {key: as_question(what) for key, what in {**(questions or {}), **more}.items()}
        names = {asking.key_of(question, key): key for key, question in wanted.items()}
        named = {name: wanted[key] for name, key in names.items()}

        async def answers() -> dict[str, Any]:
            found = await asking.ask_all(named)
            return {names[name]: answer for name, answer in found.items()}

        asked: Awaitable[dict[str, Any]] = self._answer(answers)
        return asked

    @overload
    def once(
        self, name: str, function: Callable[..., Coroutine[Any, Any, T]], *args: Any
    ) -> Awaitable[T]: ...
    @overload
    def once(self, name: str, function: Callable[..., T], *args: Any) -> Awaitable[T]: ...
    def once(self, name: str, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function, unless that was done before in an earlier round of the same call.

        The result is remembered in what the client carries: keep it small. A call that is never
        answered, or made anew, remembers nothing.

        Args:
            name: What the result goes by.
            function: What to call, plain or `async`. It cannot ask the client.
            args: What it takes.

        Returns:
            What it returned, as JSON would bring it back: of the type that it declares to return,
            or else plain values.

        Raises:
            TypeError: JSON has no form for what it returned, or it is not what it declares.
        """
        asking = self._asker()
        name = asking.results.take(name)
        if self._is_on_the_loop:
            return self._answer(partial(asking.once, name, function, *args))
        return asking.once_in_thread(name, function, *args)

    @property
    def input_responses(self) -> dict[str, Any]:
        """The answers to the questions of an `InputRequired` that the handler returned.

        An `ElicitResult`, a `CreateMessageResult` or a `ListRootsResult` for each key that was
        answered. Empty when the handler is run for the first time.
        """
        return self._asker().responses

    @property
    def input_state(self) -> Any:
        """The state of an `InputRequired` that the handler returned, or `None`."""
        return self._asker().state

    def _declares(self, needed: ClientCapabilities) -> bool:
        session = self._connection.protocol.session
        if not self._request.is_modern and session is not None and session.is_assumed:
            return False
        return client_declares(self._request.client_capabilities, needed)

    # --- for the server

    async def serve(
        self, run: Callable[[], Awaitable[T | InputRequired]]
    ) -> T | InputRequiredResult:
        """Run the handler, as often as it takes.

        Args:
            run: Runs it once, from its start.

        Returns:
            What it returned; or what it has to ask the client before it can return anything.

        Raises:
            RequestFailed: The request brings a state that is not one for it.
        """
        params = self._request.params
        if self._request.is_modern and (
            getattr(params, "request_state", UNSET) is not UNSET
            or getattr(params, "input_responses", UNSET) is not UNSET
        ):
            self._asker()
        self._is_serving = True
        try:
            while True:
                value = await self._run(run)
                if not isinstance(value, InputRequired):
                    return value
                asked = await self._asker().ask_by_hand(value)
                if asked is not None:
                    return asked
        finally:
            self._is_over = self._has_ended = True
            if self._asking is not None:
                self._asking.close()

    async def settle(self, work: Awaitable[T]) -> T | InputRequiredResult:
        """Wait for what goes on around the handler, which may ask as well.

        Returns:
            What came of it; or what has to be asked first.
        """
        try:
            value = await work
        except (Exception, Unwinding, BaseExceptionGroup):
            asked = self._unwound()
            if asked is None:
                raise
            return asked
        finally:
            self._is_over = True
            if self._asking is not None:
                self._asking.close()
        return value if isinstance(value, InputRequiredResult) else self._unwound() or value

    async def _run(
        self, run: Callable[[], Awaitable[T | InputRequired]]
    ) -> T | InputRequired | InputRequiredResult:
        """Run the handler once. If it is unwound, what comes of it otherwise does not matter."""
        try:
            value = await self._run_and_close(run)
            value = asked_by(value) or value
        except (Exception, Unwinding, BaseExceptionGroup) as error:
            asked = self._unwound()
            if asked is not None:
                return asked
            if self._asking is not None and isinstance(error, BaseExceptionGroup):
                raise _on_purpose(error) or error from None
            raise
        return self._unwound() or value

    async def _run_and_close(self, run: Callable[[], Awaitable[R]]) -> R:
        try:
            value = await run()
        except BaseException as error:
            self._has_ended = True
            if self._scope is not None:
                await self._close_scope(error)
            raise
        if self._scope is not None:
            await self._close_scope(None)
        return value

    async def run_in_scope(self, run: Callable[[], Awaitable[R]]) -> R:
        """Run what has dependencies; they are closed when all that is being served has ended."""
        if (self._outer or self)._is_serving:
            return await run()
        return await self._run_and_close(run)  # a notification: it is not served, only heard

    @property
    def scope(self) -> Scope:
        """What dependencies have made; it is closed when the handler has run."""
        if self._outer is not None:
            return self._outer.scope
        if self._scope is None:
            from wigwag.server.scope import Scope  # noqa: PLC0415 - few handlers depend on anything

            self._scope = Scope()
        return self._scope

    async def _close_scope(self, error: BaseException | None) -> None:
        if error is not None and self._asking is not None:
            self._asking.close()  # so that no thread waits for an answer any more
        scope, self._scope = self._scope, None
        assert scope is not None
        await scope.close(error)

    def _unwound(self) -> InputRequiredResult | None:
        return None if self._asking is None else self._asking.unwound()

    def _asker(self) -> Asking:
        if self._outer is not None:
            return self._outer._asker()
        if self._is_over:
            if self._asking is not None:
                self._asking.check_open()
            raise QuestionFailed("the call has been answered: nothing can be asked any more")
        if self._asking is None:
            # Few calls ask, and only they pay for it.
            method = self._request.method
            if self._request.is_modern and method in METHODS and method not in _MAY_ASK:
                raise QuestionFailed(f"the client cannot be asked while it waits for {method}")
            if self._request.is_modern:
                from wigwag.server.asking.replay import Replay  # noqa: PLC0415

                keeper = self._server.keeper
                self._asking = Replay(
                    self._request, self._connection, self._loop, keeper, self.principal
                )
            else:
                from wigwag.server.asking.asking_directly import AskingDirectly  # noqa: PLC0415

                self._asking = AskingDirectly(
                    self._request, self._connection, self._loop, lambda: self.limit
                )
        return self._asking

    def call_on_the_loop(self, call: Callable[[], T]) -> T:
        """Call a plain function that runs on the event loop, where it can wait for nothing."""
        self.is_blocking_the_loop = True
        try:
            return call()
        finally:
            self.is_blocking_the_loop = False

    def _put(self, question: Question[Any], key: str | None) -> Any:
        asking = self._asker()
        asking.check_may_ask()
        name = asking.key_of(question, key or question.key)
        return self._answer(partial(asking.ask, question, name))

    def _answer(self, start: Callable[[], Coroutine[Any, Any, T]]) -> Any:
        """Return something to await; in the thread of a plain function, its outcome itself."""
        if not self._is_on_the_loop:
            return self._asker().wait(start)
        if self.is_blocking_the_loop:
            raise LocalProtocolError(
                "a plain function with thread=False cannot wait for an answer: "
                "leave that out, or make it an async function"
            )
        return start()

    @property
    def _is_on_the_loop(self) -> bool:
        return asyncio._get_running_loop() is self._loop


def _on_purpose(group: BaseExceptionGroup[Any]) -> RequestFailed | ToolError | None:
    """Return what a task group has wrapped that is meant for the client or for the model."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            error = _on_purpose(error)
        if isinstance(error, RequestFailed | ToolError):
            return error
    return None
