"""What programs written for the official SDK call on `ctx.session` and `mcp.session_manager`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from wigwag.protocol.gates import client_declares
from wigwag.schema import ClientCapabilities, CreateMessageResult, ListRootsResult, LoggingLevel

if TYPE_CHECKING:
    from wigwag.server.asking.questions import ElicitationOutcome, Messages


class SessionNames:
    """The methods of a `Context` by other names.

    Args:
        context: The context.
    """

    def __init__(self, context: Any) -> None:
        self._context = context

    async def send_tool_list_changed(self) -> None:
        """See `Context.tools_changed`."""
        self._context.tools_changed()

    async def send_resource_list_changed(self) -> None:
        """See `Context.resources_changed`."""
        self._context.resources_changed()

    async def send_prompt_list_changed(self) -> None:
        """See `Context.prompts_changed`."""
        self._context.prompts_changed()

    async def send_resource_updated(self, uri: Any) -> None:
        """See `Context.resource_updated`."""
        self._context.resource_updated(str(uri))

    async def send_log_message(
        self, level: LoggingLevel, data: Any, logger: str | None = None, **_: Any
    ) -> None:
        """See `Context.log`."""
        self._context.log(level, data, logger=logger)

    async def send_elicit_complete(self, elicitation_id: str, **_: Any) -> None:
        """See `Context.elicitation_complete`."""
        self._context.elicitation_complete(elicitation_id)

    async def create_message(
        self, messages: Messages, *, max_tokens: int, **options: Any
    ) -> CreateMessageResult:
        """See `Context.sample`."""
        result: CreateMessageResult = await self._context.sample(
            messages, max_tokens=max_tokens, **options
        )
        return result

    async def list_roots(self) -> ListRootsResult:
        """See `Context.list_roots`."""
        return ListRootsResult(roots=await self._context.list_roots())

    async def elicit_url(
        self, message: str, url: str, elicitation_id: str, **_: Any
    ) -> ElicitationOutcome[None]:
        """See `Context.elicit_url`."""
        outcome: ElicitationOutcome[None] = await self._context.elicit_url(
            message, url, elicitation_id
        )
        return outcome

    def check_client_capability(self, capability: ClientCapabilities) -> bool:
        """Tell whether the client declared a capability."""
        return client_declares(self._context.client_capabilities, capability)


class SessionManagerNames:
    """The lifespan of a server by another name.

    Args:
        running: `Server.running`.
    """

    def __init__(self, running: Callable[[], AbstractAsyncContextManager[None]]) -> None:
        self._running = running

    def run(self) -> AbstractAsyncContextManager[None]:
        """See `Server.running`."""
        return self._running()
