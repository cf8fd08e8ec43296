"""Tools, resources, prompts and completions as a server keeps them: a definition and a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import astuple

from wigwag.errors import LocalProtocolError, RequestFailed, ToolError
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import Members, encode_members
from wigwag.runtime.dispatch import Dispatch
from wigwag.runtime.failures import log_failure
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    CallToolResult,
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
from wigwag.server.input_required import InputRequired
from wigwag.server.prompt_messages import to_prompt
from wigwag.server.results import (
    InvalidOutput,
    ToolOutput,
    failed_result,
    text_of_tool_error,
)
from wigwag.server.signature import ArgumentsRefused, Parameters
from wigwag.server.uri_templates import UriTemplate

if TYPE_CHECKING:
    from wigwag.server.written_schema import WrittenParameters

MakeContext = Callable[[], Context]
AnyParameters: TypeAlias = "Parameters | WrittenParameters"
P = TypeVar("P", bound="AnyParameters", covariant=True)


class Function(Generic[P]):
    """A registered function, however it is to be run.

    Args:
        parameters: What it takes.
        threads: Where a plain function runs; `None` to run it on the event loop.
        timeout: Seconds after which it is stopped; `None` for never.
    """

    def __init__(
        self, parameters: P, threads: WorkerThreads | None, timeout: float | None = None
    ) -> None:
        function = parameters.function
        call = getattr(function, "__call__", function)  # noqa: B004 - objects may be async too
        if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
            name = getattr(function, "__qualname__", repr(function))
            raise TypeError(f"{name} yields; it must return its result")
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        self._threads = threads
        self.timeout = timeout
        self.parameters = parameters
        self.wants_context = parameters.context is not None

    @property
    def is_direct(self) -> bool:
        """Whether what its arguments are, in order, is all there is to calling and awaiting it."""
        return self._is_async and self.timeout is None and self.parameters.is_plain

    async def run(self, arguments: Any, context: Context | None) -> Any:
        """Call the function with arguments that its parameters have read.

        Raises:
            TimeoutError: Its limit was reached.
        """
        if self.timeout is None:
            return await self._run(arguments, context)
        async with asyncio.timeout(self.timeout) as limit:
            if context is not None:
                context.limit = limit
            return await self._run(arguments, context)

    async def _run(self, arguments: Any, context: Context | None) -> Any:
        if self._is_async:
            return await self.parameters.call(arguments, context)
        if self._threads is None:
            result = self._run_here(arguments, context)
        else:
            result = await self._threads.run(self.parameters.call, arguments, context)
        # A plain function may return something to await, such as a partial of a coroutine function.
        return await result if inspect.isawaitable(result) else result

    def _run_here(self, arguments: Any, context: Context | None) -> Any:
        if context is None:
            return self.parameters.call(arguments, None)
        context.is_blocking_the_loop = True
        try:
            return self.parameters.call(arguments, context)
        finally:
            context.is_blocking_the_loop = False


class ToolFeature:
    """A tool of a server."""

    def __init__(
        self, definition: Tool, function: Function[AnyParameters], output: ToolOutput
    ) -> None:
        self.definition = definition
        self._function = function
        self._output = output
        self._parameters = function.parameters
        self._decode = function.parameters.decode
        self._direct = function.parameters.function if function.is_direct else None

    async def call(
        self, request: RequestReceived, connection: Dispatch, services: Services
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
            elif not self._function.wants_context:
                value = await self._function.run(arguments, None)
            else:
                context = Context(services, connection, request)
                value = await context.serve(partial(self._function.run, arguments, context))
                if isinstance(value, InputRequiredResult):
                    return value
            result = self._output.to_result(value)
            # Encoded here, where what JSON has no form for still is the tool's failure.
            return result if isinstance(result, tuple) else self._encoded(result, request)
        except RequestFailed:
            raise
        except ArgumentsRefused as error:
            return failed_result(f"Invalid arguments for {self.definition.name}: {error}")
        except ToolError as error:
            return failed_result(text_of_tool_error(error))
        except TimeoutError as error:
            return self._timed_out(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool must not end the server
            return self._crashed(error)

    def _encoded(self, result: CallToolResult, request: RequestReceived) -> Struct | Members:
        if result.meta is not UNSET or result.result_type is not UNSET:
            return result
        try:
            return encode_members(result, request.revision)
        except LocalProtocolError as error:
            raise InvalidOutput(str(error)) from None

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


class ResourceFeature:
    """A resource of a server, or a template for many."""

    def __init__(
        self,
        definition: Resource | ResourceTemplate,
        function: Function[Parameters],
        mime_type: str | None,
    ) -> None:
        self.definition = definition
        self._function = function
        self._mime_type = mime_type
        self.template: UriTemplate | None = None
        if isinstance(definition, ResourceTemplate):
            self.template = UriTemplate(definition.uri_template)
            self._check_names(definition.uri_template, self.template.names)
        elif function.parameters.types:
            names = ", ".join(function.parameters.types)
            raise TypeError(f"{definition.uri} has no variables, but its function takes {names}")

    def _check_names(self, template: str, names: list[str]) -> None:
        parameters = self._function.parameters
        missing = [name for name in names if name not in parameters.types]
        unknown = [
            name
            for name in parameters.types
            if name not in names and name not in parameters.defaults
        ]
        if missing or unknown:
            raise TypeError(
                f"{template}: its variables ({', '.join(names)}) and the parameters of its "
                f"function ({', '.join(parameters.types)}) must have the same names"
            )

    async def read(
        self, uri: str, values: dict[str, str], make_context: MakeContext
    ) -> ReadResourceResult | InputRequired:
        """Read the resource, once.

        Returns:
            What it reads, or what its function has to ask the client first.

        Raises:
            RequestFailed: The values in the URI are not what the function takes.
        """
        function = self._function
        try:
            arguments = function.parameters.convert(values)
        except ArgumentsRefused as error:
            raise RequestFailed(INVALID_PARAMS, f"Invalid URI {uri}: {error}") from None
        context = make_context() if function.wants_context else None
        value = await function.run(arguments, context)
        if isinstance(value, InputRequired):
            return value
        return to_contents(value, uri, self._mime_type)


class PromptFeature:
    """A prompt of a server."""

    def __init__(self, definition: Prompt, function: Function[Parameters]) -> None:
        self.definition = definition
        self._function = function

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
        if isinstance(value, InputRequired):
            return value
        description = self.definition.description
        return to_prompt(value, "" if description is UNSET else description)


def prompt_arguments(parameters: Parameters) -> list[PromptArgument]:
    """Describe the parameters of a prompt function as the arguments of a prompt."""
    return [
        PromptArgument(
            name=name,
            description=_description(parameters, name) or UNSET,
            required=name not in parameters.defaults,
        )
        for name in parameters.types
    ]


def _description(parameters: Parameters, name: str) -> str:
    text = parameters.schema["properties"][name].get("description", "")
    return text if isinstance(text, str) else ""
