"""Stands in for a server, where features are tested by themselves."""

from collections.abc import Callable
from typing import Any, cast

from msgspec import UNSET, Raw

from wigwag.protocol.events import RequestReceived
from wigwag.runtime.server_connection import ServerConnection
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    TOOLS_CALL,
    CallToolRequestParams,
    ClientCapabilities,
    ReadResourceResult,
)
from wigwag.server.asking.memory import Keeper
from wigwag.server.context import Context
from wigwag.server.functions import Function
from wigwag.server.parameters.signature import Parameters

NEWEST = "2026-07-28"
# The handlers here do not talk to the client.
NO_CONNECTION = cast("ServerConnection", None)


class House:
    """A server's part of a context."""

    def __init__(self) -> None:
        self.lifespan_value = "lifespan"
        self.dependency_overrides: dict[Callable[..., Any], Callable[..., Any]] = {}

    @property
    def pipeline(self) -> None:
        return None

    @property
    def keeper(self) -> Keeper:
        raise AssertionError("nobody asks here")

    async def read_resource(self, uri: str, context: Context) -> ReadResourceResult:
        raise AssertionError("nobody reads here")

    async def complete(self, params: Any, context: Context | None) -> Any:
        raise AssertionError("nothing is completed here")

    def resource_updated(self, uri: str) -> None:
        raise AssertionError("nothing changes here")

    def tools_changed(self) -> None:
        raise AssertionError("nothing changes here")

    resources_changed = prompts_changed = tools_changed


def request(arguments: Raw | Any = UNSET) -> RequestReceived:
    return RequestReceived(
        id=7,
        method=TOOLS_CALL,
        params=CallToolRequestParams(name="tool", arguments=arguments),
        source=b"{}",
        revision=NEWEST,
        is_modern=True,
        meta=UNSET,
        client_capabilities=ClientCapabilities(),
        client_info=UNSET,
    )


def function_of(
    function: Callable[..., Any], *, threads: bool = True, timeout: float | None = None
) -> Function[Parameters]:
    parameters = Parameters(function, Context)
    return Function(parameters, WorkerThreads() if threads else None, timeout)


def no_context() -> Context:
    raise AssertionError("no context is made for a function that wants none")
