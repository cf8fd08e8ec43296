"""What a handler knows of the request that it serves, what it can tell the client, and ask it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar, get_args, overload

import msgspec
from msgspec import UNSET, Raw

from wigwag.errors import LocalProtocolError, RequestFailed, ToolError
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.gates import client_declares
from wigwag.runtime.dispatch import Dispatch
from wigwag.schema import (
    ClientCapabilities,
    ElicitationCapability,
    Implementation,
    InputRequiredResult,
    LoggingLevel,
    ReadResourceResult,
    RootsCapability,
    SamplingCapability,
)
from wigwag.server.input_required import ANSWER_TIMEOUT, InputRequired, Unwinding

if TYPE_CHECKING:
    from wigwag.schema import CreateMessageResult, ModelPreferences, Root, Tool, ToolChoice
    from wigwag.server.asking import Asking
    from wigwag.server.memory import Keeper
    from wigwag.server.questions import ElicitationOutcome, Messages, Question

T = TypeVar("T")
R = TypeVar("R")

_FORM: Final = ClientCapabilities(elicitation=ElicitationCapability())
_PAGE: Final = ClientCapabilities(elicitation=ElicitationCapability(url={}))
_MODEL: Final = ClientCapabilities(sampling=SamplingCapability())
_ROOTS: Final = ClientCapabilities(roots=RootsCapability())

_LEVELS: Final[tuple[LoggingLevel, ...]] = get_args(LoggingLevel)


class Services(Protocol):
    """What a context needs of its server."""

    lifespan_value: Any

    @property
    def keeper(self) -> Keeper:
        """What keeps the memory of calls between their rounds."""
        ...

    async def read_resource(self, uri: str, context: Context) -> ReadResourceResult | InputRequired:
        """Read a resource of the server on behalf of a request."""
        ...

    def resource_updated(self, uri: str) -> None:
        """Tell clients that subscribed to a resource that it has changed."""
        ...


class _Done:
    """Has happened already, and may be awaited all the same."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


_DONE = _Done()


class Context:
    """The request being served. A handler gets it by having a parameter of this type.

    Its methods that tell the client something act at once and may be awaited or not, so that they
    serve in `async def` handlers and in plain ones, which run in threads.
    """

    def __init__(self, services: Services, connection: Dispatch, request: RequestReceived) -> None:
        self._services = services
        self._request = request
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._asking: Asking | None = None
        self.is_blocking_the_loop = False
        """Whether a plain function runs on the event loop, and so cannot wait for anything."""

    # --- the request

    @property
    def request_id(self) -> str | int:
        """The id of the request, as the client chose it."""
        return self._request.id

    @property
    def protocol_version(self) -> str:
        """The revision in which the request is asked, for example `2026-07-28`."""
        return self._request.revision

    @property
    def client_info(self) -> Implementation | None:
        """What the client calls itself, if it says so. Nobody vouches for it: display only."""
        info = self._request.client_info
        return None if info is UNSET else info

    @property
    def client_capabilities(self) -> ClientCapabilities:
        """What the client declared: with this request, or when its session began."""
        return self._request.client_capabilities

    @property
    def meta(self) -> dict[str, Any]:
        """All of the request's `_meta`, the keys that MCP does not define included."""
        params = msgspec.json.decode(self._request.source, type=_Message).params
        return {} if params is UNSET or params.meta is UNSET else params.meta

    @property
    def lifespan(self) -> Any:
        """What the server's `lifespan` yielded; `None` without one."""
        return self._services.lifespan_value

    def require_capability(self, needed: ClientCapabilities) -> None:
        """See to it that the client can do something.

        Raises:
            RequestFailed: It did not declare that; let it pass, it is the answer the protocol
                wants. Spec: basic#error-codes
        """
        self._connection.protocol.require_client_capability(self._request, needed)

    # --- telling the client

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> _Done:
        """Tell how far the request has come, if the client wants to know.

        Args:
            progress: Must grow from call to call; a value that has not grown is not sent.
            total: Its value when all is done, if known.
            message: What is going on, for a person to read.
        """
        return self._act(
            self._connection.send_progress,
            self._request,
            progress,
            UNSET if total is None else total,
            UNSET if message is None else message,
        )

    def log(self, level: LoggingLevel, data: Any, *, logger: str | None = None) -> _Done:
        """Send the client a log message, if it wants messages of this level.

        Args:
            level: From `debug` to `emergency`.
            data: Text or any JSON value. No secrets: the client may show it to anybody.
            logger: Name of the part of the server that it comes from.

        Raises:
            LocalProtocolError: `data` has no form in JSON, or there is no such level.
        """
        if level not in _LEVELS:
            raise LocalProtocolError(f"there is no level {level!r}: {', '.join(_LEVELS)}")
        if not self._is_on_the_loop:  # it is to fail here, not where nobody waits
            data = Raw(encode_value(data))
        name = UNSET if logger is None else logger
        return self._act(self._connection.send_log, self._request, level, data, name)

    def debug(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `debug`; see `log`."""
        return self.log("debug", data, logger=logger)

    def info(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `info`; see `log`."""
        return self.log("info", data, logger=logger)

    def warning(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `warning`; see `log`."""
        return self.log("warning", data, logger=logger)

    def error(self, data: Any, *, logger: str | None = None) -> _Done:
        """Send a log message of level `error`; see `log`."""
        return self.log("error", data, logger=logger)

    def close_stream(self, *, retry: float | None = None) -> _Done:
        """Let an HTTP client go meanwhile: it comes back for the result, which is kept.

        So a long call holds no connection open. Clients that could not come back, and those of
        transports other than legacy Streamable HTTP, are kept.
        Spec: 2025-11-25 basic/transports#sending-messages-to-the-server

        Args:
            retry: Seconds after which it should come back.
        """
        return self._act(self._connection.close_stream, retry)

    # --- the server's own features

    def resource_updated(self, uri: str) -> _Done:
        """Tell clients that subscribed to a resource that it reads otherwise than before."""
        self._services.resource_updated(uri)
        return _DONE

    async def read_resource(self, uri: str) -> ReadResourceResult:
        """Read a resource of this server, as its clients do.

        Raises:
            RequestFailed: There is no such resource.
            RuntimeError: It asks the client by hand, which only what was requested can do.
        """
        result = await self._services.read_resource(uri, self)
        if isinstance(result, InputRequired):
            raise RuntimeError(f"{uri} returned InputRequired: only what was requested can do that")
        return result

    # --- asking the client

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
            TypeError: `schema` has a field that no form can have.
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/elicitation
        """
        from wigwag.server.questions import elicit  # noqa: PLC0415 - few calls ask

        return self._put(elicit(message, schema, timeout=timeout), key)

    def elicit_url(
        self,
        message: str,
        url: str,
        *,
        key: str | None = None,
        timeout: float | None = ANSWER_TIMEOUT,
    ) -> Awaitable[ElicitationOutcome[None]]:
        """Ask the user to visit a page, where they can enter what the client must not see.

        That they accept means that they agreed to, not that they are done there.

        Args:
            message: Why they should.
            url: The page. When the call is run again it must be the same one.
            key: What the question goes by, as for `elicit`.
            timeout: Seconds that a legacy client has to answer, as for `elicit`.

        Raises:
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).

        Spec: client/elicitation#url-mode-elicitation-requests
        """
        from wigwag.server.questions import elicit_url  # noqa: PLC0415 - few calls ask

        asked: Awaitable[Any] = self._put(elicit_url(message, url, timeout=timeout), key)
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
        from wigwag.server.questions import sample  # noqa: PLC0415 - few calls ask

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
        from wigwag.server.questions import list_roots  # noqa: PLC0415 - few calls ask

        asked: Awaitable[list[Root]] = self._put(list_roots(timeout=timeout), key)
        return asked

    def ask(self, **questions: Question[Any]) -> Awaitable[dict[str, Any]]:
        """Ask several things at the same time.

        >>> from wigwag import elicit, list_roots
        >>> async def report(context):
        ...     answers = await context.ask(name=elicit("Whose?", str), roots=list_roots())
        ...     return answers["name"].data, answers["roots"]

        Args:
            questions: What `elicit`, `elicit_url`, `sample` and `list_roots` of `wigwag` return,
                by the keys that they go by.

        Returns:
            The answers, by the same keys.

        Raises:
            RequestFailed: The client did not declare that it can; let it pass (modern).
            QuestionFailed: There is no answer to be had (legacy).
        """
        asking = self._asker()
        asking.check_may_ask()
        names = {asking.questions.take(key): key for key in questions}
        named = {name: questions[key] for name, key in names.items()}

        async def answers() -> dict[str, Any]:
            found = await asking.ask_all(named)
            return {names[name]: answer for name, answer in found.items()}

        asked: Awaitable[dict[str, Any]] = self._answer(answers)
        return asked

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
        self, run: Callable[[], Awaitable[R | InputRequired]]
    ) -> R | InputRequiredResult:
        """Run the handler, as often as it takes.

        Args:
            run: Runs it once, from its start.

        Returns:
            What it returned; or what it has to ask the client before it can return anything.

        Raises:
            RequestFailed: The request brings a state that is not one for it.
        """
        params = self._request.params
        if self._request.is_modern and not (
            params.request_state is UNSET and params.input_responses is UNSET
        ):
            self._asker()
        try:
            while True:
                value = await self._run(run)
                if not isinstance(value, InputRequired):
                    return value
                asked = await self._asker().ask_by_hand(value)
                if asked is not None:
                    return asked
        finally:
            if self._asking is not None:
                self._asking.close()

    async def _run(
        self, run: Callable[[], Awaitable[R | InputRequired]]
    ) -> R | InputRequired | InputRequiredResult:
        """Run the handler once. If it is unwound, what comes of it otherwise does not matter."""
        try:
            value = await run()
        except (Exception, Unwinding, BaseExceptionGroup) as error:
            asked = self._unwound()
            if asked is not None:
                return asked
            if self._asking is not None and isinstance(error, BaseExceptionGroup):
                raise _on_purpose(error) or error from None
            raise
        return self._unwound() or value

    def _unwound(self) -> InputRequiredResult | None:
        return None if self._asking is None else self._asking.unwound()

    def _asker(self) -> Asking:
        if self._asking is None:
            # Few calls ask, and only they pay for it.
            if self._request.is_modern:
                from wigwag.server.replay import Replay  # noqa: PLC0415

                keeper = self._services.keeper
                self._asking = Replay(self._request, self._connection, self._loop, keeper)
            else:
                from wigwag.server.asking import AskingDirectly  # noqa: PLC0415

                self._asking = AskingDirectly(self._request, self._connection, self._loop)
        return self._asking

    def _put(self, question: Question[Any], key: str | None) -> Any:
        asking = self._asker()
        asking.check_may_ask()
        name = asking.questions.take(key or question.key)
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

    def _act(self, function: Callable[..., object], *args: Any) -> _Done:
        if self._is_on_the_loop:
            function(*args)
        else:  # in a worker thread
            self._loop.call_soon_threadsafe(function, *args)
        return _DONE


def _on_purpose(group: BaseExceptionGroup[Any]) -> RequestFailed | ToolError | None:
    """Return what a task group has wrapped that is meant for the client or for the model."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            error = _on_purpose(error)
        if isinstance(error, RequestFailed | ToolError):
            return error
    return None


class _Params(msgspec.Struct, frozen=True):
    meta: dict[str, Any] | msgspec.UnsetType = msgspec.field(name="_meta", default=UNSET)


class _Message(msgspec.Struct, frozen=True):
    params: _Params | msgspec.UnsetType = UNSET
