"""Wigwag's client in the words of the contract, so that it can make the tour there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import UNSET

from tests.interop.peers import contract
from wigwag import Client, Timeouts
from wigwag.schema import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    Implementation,
    LoggingMessageNotificationParams,
    PromptReference,
    Root,
    TextContent,
)

START_SECONDS: Final = 30


def text_of(result: CallToolResult) -> str:
    """All the text of a tool's result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def plain(value: Any) -> Any:
    """The same, with `None` for what was not sent."""
    return None if value is UNSET else value


class Peer(contract.Client):
    """The client, its handlers, and what they saw."""

    def __init__(
        self, target: list[str] | str, *, env: dict[str, str] | None = None, mode: str
    ) -> None:
        super().__init__()
        self.client = Client(
            target,
            env=env,
            mode=mode,
            info=Implementation(name="wigwag-peer", version="1.0.0"),
            on_stderr=lambda _line: None,
            on_log=self.on_log,
            on_notification=self.on_notification,
            elicitation=self.elicit,
            sampling=self.sample,
            roots=[Root(uri="file:///demo", name="demo")],
            # On a busy machine a server may be long in starting, and is not of old for that.
            timeouts=Timeouts(probe=START_SECONDS),
        )

    def on_log(self, params: LoggingMessageNotificationParams) -> None:
        """Keeps a log message."""
        self.logs.append([params.level, params.data])

    def on_notification(self, method: str, _params: Any) -> None:
        """Keeps the news of a change."""
        if method in ("notifications/resources/updated", "notifications/tools/list_changed"):
            self.notified.put_nowait(method)

    async def elicit(self, params: Any) -> dict[str, Any]:
        """Answers as the user would."""
        assert isinstance(params, ElicitRequestFormParams)
        assert params.requested_schema["required"] == ["name"]
        return {"name": f"Ada, asked '{params.message}'"}

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answers as a model would."""
        block = params.messages[0].content
        assert isinstance(block, TextContent)
        return CreateMessageResult(
            role="assistant", content=TextContent(text=block.text.upper()), model="demo-model"
        )

    async def identity(self) -> dict[str, Any]:
        """What the server said of itself."""
        info = self.client.server_info
        return {
            "protocol_version": self.client.protocol_version,
            "server": info and [info.name, info.version],
            "instructions": self.client.instructions,
        }

    async def tools(self) -> list[dict[str, Any]]:
        """The tools with their schemas."""
        return [
            {"name": tool.name, "input": tool.input_schema, "output": plain(tool.output_schema)}
            for tool in (await self.client.list_tools()).tools
        ]

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        on_progress: contract.Progress | None = None,
        log_level: str | None = None,
    ) -> dict[str, Any]:
        """Calls a tool."""
        progressing: list[asyncio.Task[None]] = []

        def note(params: Any) -> None:
            assert on_progress is not None
            seen = on_progress(params.progress, plain(params.total), plain(params.message))
            progressing.append(asyncio.ensure_future(seen))

        meta = {"io.modelcontextprotocol/logLevel": log_level} if log_level else None
        result = await self.client.call_tool(
            name, arguments, on_progress=note if on_progress else None, meta=meta
        )
        await asyncio.gather(*progressing)
        return {
            "text": text_of(result),
            "structured": plain(result.structured_content),
            "is_error": result.is_error is True,
        }

    async def resources(self) -> list[str]:
        """The URIs of the resources."""
        return [resource.uri for resource in (await self.client.list_resources()).resources]

    async def templates(self) -> list[str]:
        """The templates of URIs."""
        found = await self.client.list_resource_templates()
        return [template.uri_template for template in found.resource_templates]

    async def read(self, uri: str) -> list[list[Any]]:
        """Reads a resource of text."""
        contents = (await self.client.read_resource(uri)).contents
        return [[item.uri, plain(item.mime_type), plain(item.text)] for item in contents]

    async def prompts(self) -> list[list[Any]]:
        """The prompts and the names of their arguments."""
        found = (await self.client.list_prompts()).prompts
        return [[prompt.name, [a.name for a in prompt.arguments or []]] for prompt in found]

    async def get(self, name: str, arguments: dict[str, str]) -> list[list[Any]]:
        """The messages of a prompt."""
        result = await self.client.get_prompt(name, arguments)
        return [
            [message.role, message.content.text]
            for message in result.messages
            if isinstance(message.content, TextContent)
        ]

    async def complete(self, prompt: str, argument: str, value: str) -> dict[str, Any]:
        """How an argument of a prompt may go on."""
        found = await self.client.complete(PromptReference(name=prompt), argument, value)
        completion = found.completion
        return {
            "values": completion.values,
            "total": plain(completion.total),
            "has_more": plain(completion.has_more),
        }

    async def ping(self) -> bool:
        """Whether the server answers."""
        await self.client.ping()
        return True

    async def set_level(self, level: Any) -> None:
        """Asks for log messages from a level on."""
        await self.client.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        """Subscribes, in the way of the legacy era."""
        await self.client.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> None:
        """Undoes it."""
        await self.client.unsubscribe_resource(uri)

    async def roots_changed(self) -> None:
        """Says that the roots have changed."""
        await self.client.send_roots_list_changed()

    async def listen_updated(self, uri: str, act: Callable[[], Awaitable[Any]]) -> str:
        """Waits, on a stream, for the change of one resource."""
        async with self.client.listen(uris=[uri]) as changes:
            await act()
            change = await anext(aiter(changes))
            assert change.uri is not None
            return change.uri

    async def listen_tools(self, act: Callable[[], Awaitable[Any]]) -> bool:
        """Waits, on a stream, for a change of the tools."""
        async with self.client.listen(tools=True) as changes:
            await act()
            return (await anext(aiter(changes))).method == "notifications/tools/list_changed"


async def tour(
    target: list[str] | str, era: str, *, env: dict[str, str] | None = None
) -> contract.Report:
    """Goes through a server, given as a command or a URL."""
    report = contract.Report()
    ours = Peer(target, env=env, mode=era)
    async with asyncio.timeout(contract.TOUR_SECONDS), ours.client:
        await contract.tour(ours, report)
    return report
