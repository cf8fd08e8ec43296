"""Tools as a server keeps them, and how one is called. Spec: server/tools."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct
from msgspec.structs import astuple

from wigwag.errors import LocalProtocolError, RequestFailed
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import Members, encode_members
from wigwag.runtime.at_once import run_at_once, waits_for_nothing
from wigwag.runtime.dispatch import Dispatch
from wigwag.runtime.failures import deliberate_failure, log_failure, must_pass, text_of
from wigwag.schema import CallToolResult, InputRequiredResult, Tool
from wigwag.server.context import Context
from wigwag.server.features import FREE, Availability, Feature
from wigwag.server.functions import AnyParameters, Function
from wigwag.server.parameters.signature import ArgumentsRefused
from wigwag.server.results.tool_results import (
    InvalidOutput,
    ToolOutput,
    failed_result,
    why_unsendable,
)

if TYPE_CHECKING:
    from wigwag.server.features import Owner


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
        self.is_immediate = self._direct is not None and waits_for_nothing(self._direct)
        """Whether it can be called by `call_at_once`."""

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

    def call_at_once(
        self, request: RequestReceived, loop: asyncio.AbstractEventLoop
    ) -> Struct | Members:
        """Call the tool as `call` does, without a coroutine, as its function waits for nothing."""
        # The lines of `call` again: in functions of their own they would cost 2 % of all it does.
        try:
            try:
                arguments: Any = self._decode(request.params.arguments)
            except Exception:  # noqa: BLE001 - as in `call`
                arguments = self._parameters.read(request.params.arguments)
            value = run_at_once(self._direct(*astuple(arguments)), loop)  # type: ignore[misc]
            result = self._output.to_result(value, request.revision)
            return result if isinstance(result, tuple) else self._encoded(result, request)
        except RequestFailed:
            raise
        except BaseException as error:
            # Nobody can cancel what waits for nothing.
            if must_pass(error) and not isinstance(error, asyncio.CancelledError):
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
