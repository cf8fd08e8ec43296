"""Tools, resources, prompts and completions as a server keeps them: a definition and a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
)
from weakref import WeakKeyDictionary

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import astuple

from wigwag.errors import LocalProtocolError, RequestFailed, ResourceNotFound
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import CacheHint, Members, encode_members
from wigwag.runtime.dispatch import Dispatch, Outcome
from wigwag.runtime.failures import deliberate_failure, log_failure, must_pass, text_of
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    CallToolResult,
    CompleteRequestParams,
    GetPromptResult,
    InputRequiredResult,
    Prompt,
    PromptArgument,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)
from wigwag.server.contents import to_contents
from wigwag.server.context import Context, Services
from wigwag.server.input_required import InputRequired, asked_by
from wigwag.server.prompt_messages import to_prompt
from wigwag.server.results import (
    InvalidOutput,
    ToolOutput,
    failed_result,
    why_unsendable,
)
from wigwag.server.signature import ArgumentsRefused, Parameters
from wigwag.server.suggestions import suggestions_for

if TYPE_CHECKING:
    from wigwag.server.injection import Injection
    from wigwag.server.middleware import Pipeline
    from wigwag.server.principal import Visible
    from wigwag.server.resource_uris import ResourceSecurity, ResourceUris
    from wigwag.server.written_schema import WrittenParameters

MakeContext = Callable[[], "Context[Any]"]
AnyParameters: TypeAlias = "Parameters | WrittenParameters"
P = TypeVar("P", bound="AnyParameters", covariant=True)
D = TypeVar("D", Tool, Prompt, Resource | ResourceTemplate)

_NO_PART_OF_A_FORM = ("title", "description", "default")


class Owner(Services, Protocol):
    """What a feature needs of the server that it belongs to."""

    @property
    def pipeline(self) -> Pipeline | None:
        """What is around its handlers, if anything is."""
        ...

    async def complete(
        self, params: CompleteRequestParams, context: Context[Any] | None
    ) -> Outcome:
        """Complete an argument of a feature of the server."""
        ...


class Function(Generic[P]):
    """A registered function, however it is to be run.

    Args:
        parameters: What it takes.
        threads: Where a plain function runs; `None` to run it on the event loop.
        timeout: Seconds after which it is stopped; `None` for never.
        concurrency: How many calls of it may run at the same time; the others wait their turn,
            and their seconds do not count meanwhile. `None` for any number.
    """

    def __init__(
        self,
        parameters: P,
        threads: WorkerThreads | None,
        timeout: float | None = None,
        concurrency: int | None = None,
    ) -> None:
        function = parameters.function
        call = getattr(function, "__call__", function)  # noqa: B004 - objects may be async too
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{name} yields; it must return its result")
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        self._threads = threads
        self.timeout = timeout
        self._turns = None if concurrency is None else Turns(concurrency)
        self.parameters = parameters
        self.wants_context = parameters.context is not None
        self._injection: Injection | None = None
        if parameters.dependencies:
            from wigwag.server.injection import Injection  # noqa: PLC0415 - few depend on anything

            self._injection = Injection(parameters)
            self.wants_context = True

    @property
    def is_direct(self) -> bool:
        """Whether what its arguments are, in order, is all there is to calling and awaiting it."""
        is_free = self.timeout is None and self._turns is None
        return self._is_async and is_free and self.parameters.is_plain

    async def run(self, arguments: Any, context: Context[Any] | None) -> Any:
        """Call the function with arguments that its parameters have read.

        Raises:
            TimeoutError: Its limit was reached.
        """
        if self._turns is None:
            return await self._run_in_time(arguments, context)
        async with self._turns.one():
            return await self._run_in_time(arguments, context)

    async def _run_in_time(self, arguments: Any, context: Context[Any] | None) -> Any:
        if self.timeout is None:
            return await self._run(arguments, context)
        async with asyncio.timeout(self.timeout) as limit:
            if context is not None:
                context.limit = limit
            return await self._run(arguments, context)

    async def _run(self, arguments: Any, context: Context[Any] | None) -> Any:
        if self._injection is not None and context is not None:
            return await self._injection.run(arguments, context, self._threads)
        if self._is_async:
            return await self.parameters.call(arguments, context)
        if self._threads is None:
            result = self._run_here(arguments, context)
        else:
            result = await self._threads.run(self.parameters.call, arguments, context)
        # A plain function may return something to await, such as a partial of a coroutine function.
        return await result if inspect.isawaitable(result) else result

    def _run_here(self, arguments: Any, context: Context[Any] | None) -> Any:
        if context is None:
            return self.parameters.call(arguments, None)
        context.is_blocking_the_loop = True
        try:
            return self.parameters.call(arguments, context)
        finally:
            context.is_blocking_the_loop = False


class Turns:
    """Lets a number of calls run at the same time.

    Args:
        number: How many.

    Raises:
        ValueError: None at all.
    """

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ValueError(f"`concurrency` is 1 or more, not {number}")
        self._number = number
        # A server may be used in several event loops, one after the other or at the same time.
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    def one(self) -> asyncio.Semaphore:
        """Return what is held while a call runs."""
        loop = asyncio.get_running_loop()
        turns = self._by_loop.get(loop)
        if turns is None:
            turns = self._by_loop[loop] = asyncio.Semaphore(self._number)
        return turns


class Availability(Struct, kw_only=True, frozen=True):
    """Who can use a feature, and when.

    Attributes:
        tags: By which it is switched on and off.
        enabled: Whether it can be used at all.
        visible: Who gets to see it, and may use it; everybody if it is `None`.
    """

    tags: frozenset[str] = frozenset()
    enabled: bool = True
    visible: Visible | None = None


FREE: Final = Availability()


class Feature(Generic[D]):
    """What tools, resources and prompts have in common.

    Args:
        definition: What lists say of it.
        owner: The server that it belongs to, though it may be found at others as well.
        availability: Who can use it, and when.
    """

    def __init__(self, definition: D, owner: Owner, availability: Availability = FREE) -> None:
        self.definition: D = definition
        self.suggestions: dict[str, list[str]] = {}
        """What its arguments can be, of those that can be few things."""
        self.own_name: str = definition.name
        """Its name at its server, whatever it is called elsewhere."""
        self.owner = owner
        self.tags = availability.tags
        self.enabled = availability.enabled
        self.visible = availability.visible

    def renamed(self, name: str) -> Self:
        """Return the same feature by another name."""
        other = copy(self)
        other.definition = msgspec.structs.replace(self.definition, name=name)
        return other


class ToolFeature(Feature[Tool]):
    """A tool of a server."""

    def __init__(
        self,
        definition: Tool,
        function: Function[AnyParameters],
        output: ToolOutput,
        owner: Owner,
        availability: Availability = FREE,
        mirrored: Sequence[Any] = (),
    ) -> None:
        super().__init__(definition, owner, availability)
        self.mirrored = mirrored
        """Which of its arguments are repeated in headers over HTTP."""
        self._function = function
        self._output = output
        self._parameters = function.parameters
        self._decode = function.parameters.decode
        self._direct = function.parameters.function if function.is_direct else None

    async def call(
        self, request: RequestReceived, connection: Dispatch, context: Context[Any] | None
    ) -> Struct | Members:
        """Call the tool; whatever goes wrong in it becomes a result that a model can read.

        Spec: server/tools#error-handling

        Raises:
            RequestFailed: The tool refused the request itself, on purpose.
        """
        try:
            try:
                arguments: Any = self._decode(request.params.arguments)
            except Exception:  # noqa: BLE001 - absent, or not quite right: sorted out there
                arguments = self._parameters.read(request.params.arguments)
            if self._direct is not None:  # the way of most calls, with as little as can be
                value = await self._direct(*astuple(arguments))
            elif not self._function.wants_context and context is None:
                value = await self._function.run(arguments, None)
            else:
                if context is None:
                    context = Context(self.owner, connection, request)
                value = await context.serve(partial(self._function.run, arguments, context))
                if isinstance(value, InputRequiredResult):
                    return value
            result = self._output.to_result(value, request.revision)
            # Encoded here, where what JSON has no form for still is the tool's failure.
            return result if isinstance(result, tuple) else self._encoded(result, request)
        except RequestFailed:
            raise
        except BaseException as error:
            if must_pass(error):
                raise
            return self._failed(error)

    def _encoded(self, result: CallToolResult, request: RequestReceived) -> Struct | Members:
        if result.meta is not UNSET or result.result_type is not UNSET:
            return result
        try:
            return encode_members(result, request.revision)
        except LocalProtocolError:
            raise InvalidOutput(why_unsendable(result)) from None

    def _failed(self, error: BaseException) -> CallToolResult:
        """Tell the model what it can do something about, and refer it to the log for the rest."""
        if isinstance(error, ArgumentsRefused):
            return failed_result(f"Invalid arguments for {self.definition.name}: {error}")
        if isinstance(error, TimeoutError):
            return self._timed_out(error)
        deliberate = deliberate_failure(error, f"tool {self.definition.name}")
        if isinstance(deliberate, RequestFailed):
            raise deliberate from None
        if deliberate is not None:
            return failed_result(text_of(deliberate))
        return self._crashed(error)

    def _crashed(self, error: BaseException) -> CallToolResult:
        name = self.definition.name
        reference = log_failure(error, f"tool {name}")
        why = str(error) if isinstance(error, InvalidOutput) else "an internal error"
        return failed_result(f"{name} failed: {why} (reference {reference} in the server's log)")

    def _timed_out(self, error: TimeoutError) -> CallToolResult:
        limit = self._function.timeout
        if limit is None or not isinstance(error.__cause__, asyncio.CancelledError):
            return self._crashed(error)  # one of the tool's own
        return failed_result(f"{self.definition.name} was stopped after its limit of {limit:g} s")


class ResourceFeature(Feature[Resource | ResourceTemplate]):
    """A resource of a server, or a template for many."""

    def __init__(
        self,
        definition: Resource | ResourceTemplate,
        function: Function[Parameters],
        mime_type: str | None,
        owner: Owner,
        availability: Availability = FREE,
        cache: CacheHint | None = None,
        security: ResourceSecurity | None = None,
    ) -> None:
        super().__init__(definition, owner, availability)
        self._cache = cache
        self._function = function
        self._mime_type = mime_type
        parameters = function.parameters
        self.template: ResourceUris | None = None
        if isinstance(definition, ResourceTemplate):
            from wigwag.server.resource_uris import ResourceUris  # noqa: PLC0415 - not all have any

            self.template = ResourceUris(
                definition.uri_template, parameters.types, parameters.defaults, security
            )
            self.suggestions = suggestions_for(parameters.hints, self.template.names)
        elif parameters.types:
            names = ", ".join(parameters.types)
            raise TypeError(f"{definition.uri} has no variables, but its function takes {names}")

    async def read(
        self, uri: str, values: dict[str, Any], make_context: MakeContext
    ) -> ReadResourceResult | InputRequired:
        """Read the resource, once.

        Returns:
            What it reads, or what its function has to ask the client first.

        Raises:
            RequestFailed: The values in the URI are not what the function takes, or it has found
                nothing there.
        """
        function = self._function
        try:
            arguments = function.parameters.convert(values)
        except ArgumentsRefused as error:
            raise RequestFailed(INVALID_PARAMS, f"Invalid URI {uri}: {error}") from None
        context = make_context() if function.wants_context else None
        try:
            value = await function.run(arguments, context)
        except ResourceNotFound as error:
            raise error.at(uri) from None
        asked = asked_by(value)
        if asked is not None:
            return asked
        result = to_contents(value, uri, self._mime_type)
        if self._cache is None or result.ttl_ms is not UNSET:
            return result
        hint = self._cache
        return msgspec.structs.replace(result, ttl_ms=hint.ttl_ms, cache_scope=hint.scope)

    def renamed(self, name: str) -> Self:
        """Return the resource as it is: contents and links may name its URI."""
        return self


class PromptFeature(Feature[Prompt]):
    """A prompt of a server."""

    def __init__(
        self,
        definition: Prompt,
        function: Function[Parameters],
        owner: Owner,
        availability: Availability = FREE,
    ) -> None:
        super().__init__(definition, owner, availability)
        self._function = function
        parameters = function.parameters
        self.suggestions = suggestions_for(parameters.hints, parameters.types)

    async def get(
        self, values: dict[str, str], make_context: MakeContext
    ) -> GetPromptResult | InputRequired:
        """Make the prompt's messages, once.

        Returns:
            The messages, or what the function has to ask the client first.

        Raises:
            RequestFailed: An argument is missing, unknown or of the wrong type.
        """
        function = self._function
        try:
            arguments = function.parameters.convert(values)
        except ArgumentsRefused as error:
            name = self.definition.name
            message = f"Invalid arguments for prompt {name}: {error}"
            raise RequestFailed(INVALID_PARAMS, message) from None
        context = make_context() if function.wants_context else None
        value = await function.run(arguments, context)
        asked = asked_by(value)
        if asked is not None:
            return asked
        description = self.definition.description
        return to_prompt(value, "" if description is UNSET else description)


def prompt_arguments(parameters: Parameters) -> list[PromptArgument]:
    """Describe the parameters of a prompt function as the arguments of a prompt."""
    return [
        PromptArgument(
            name=name,
            title=_title_of(parameters.hints.get(name)) or UNSET,
            description=_describe_argument(parameters, name) or UNSET,
            required=name not in parameters.defaults,
        )
        for name in parameters.types
    ]


def _describe_argument(parameters: Parameters, name: str) -> str:
    """Describe what is always text: nothing else says of which form that is to be."""
    schema = parameters.schema["properties"][name]
    text = str(schema.get("description", ""))
    if schema.get("type") not in ("array", "object"):
        return text
    bare = {key: value for key, value in schema.items() if key not in _NO_PART_OF_A_FORM}
    encoded = encode_value(bare)
    form = "In JSON." if b"$ref" in encoded else f"In JSON: {encoded.decode()}"
    return f"{text} {form}" if text else form


def _title_of(annotation: Any) -> str:
    """Return the title that `Meta` or `Field` gives to a parameter; schemas leave titles out."""
    if get_origin(annotation) is not Annotated:
        return ""
    titles = (getattr(item, "title", None) for item in get_args(annotation)[1:])
    return next((title for title in titles if isinstance(title, str)), "")
