"""The official Python SDK, second line: a client, in either era."""

import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import contract
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

MODES = {"auto": "auto", "modern": "2026-07-28", "legacy": "legacy"}
warnings.simplefilter("ignore")


async def on_elicit(_ctx: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": f"Ada, asked '{params.message}'"})


async def on_sample(
    _ctx: Any, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    text = params.messages[0].content.text
    content = types.TextContent(type="text", text=text.upper())
    return types.CreateMessageResult(
        role="assistant", content=content, model="demo-model", stop_reason="endTurn"
    )


async def on_roots(_ctx: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///demo", name="demo")])


class Peer(contract.Client):
    client: Client

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append([params.level, params.data])

    async def on_message(self, message: Any) -> None:
        if isinstance(
            message, types.ResourceUpdatedNotification | types.ToolListChangedNotification
        ):
            self.notified.put_nowait(message.method)

    async def identity(self) -> dict[str, Any]:
        info = self.client.server_info
        return {
            "protocol_version": self.client.protocol_version,
            "server": info and [info.name, info.version],
            "instructions": self.client.instructions,
            "capabilities": self.client.server_capabilities.model_dump(
                by_alias=True, exclude_none=True
            ),
        }

    async def tools(self) -> list[dict[str, Any]]:
        return [
            {"name": tool.name, "input": tool.input_schema, "output": tool.output_schema}
            for tool in (await self.client.list_tools(cache_mode="refresh")).tools
        ]

    async def call(self, name, arguments, on_progress=None, log_level=None) -> dict[str, Any]:
        meta = {types.LOG_LEVEL_META_KEY: log_level} if log_level else None
        result = await self.client.call_tool(
            name, arguments, progress_callback=on_progress, meta=meta
        )
        texts = [block.text for block in result.content if block.type == "text"]
        return {
            "text": "\n".join(texts),
            "structured": result.structured_content,
            "is_error": result.is_error,
        }

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.client.list_resources()).resources]

    async def templates(self) -> list[str]:
        result = await self.client.list_resource_templates()
        return [template.uri_template for template in result.resource_templates]

    async def read(self, uri: str) -> list[list[Any]]:
        result = await self.client.read_resource(uri)
        return [[str(item.uri), item.mime_type, item.text] for item in result.contents]

    async def prompts(self) -> list[list[Any]]:
        result = await self.client.list_prompts()
        return [
            [prompt.name, [a.name for a in prompt.arguments or []]] for prompt in result.prompts
        ]

    async def get(self, name: str, arguments: dict[str, str]) -> list[list[Any]]:
        result = await self.client.get_prompt(name, arguments)
        return [[message.role, message.content.text] for message in result.messages]

    async def complete(self, prompt: str, argument: str, value: str) -> dict[str, Any]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        completion = (
            await self.client.complete(ref, {"name": argument, "value": value})
        ).completion
        return {
            "values": completion.values,
            "total": completion.total,
            "has_more": completion.has_more,
        }

    async def ping(self) -> bool:
        await self.client.send_ping()
        return True

    async def set_level(self, level: Any) -> None:
        await self.client.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        await self.client.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self.client.unsubscribe_resource(uri)

    async def roots_changed(self) -> None:
        await self.client.send_roots_list_changed()

    async def listen_updated(self, uri: str, act: Callable[[], Awaitable[Any]]) -> str:
        async with self.client.listen(resource_subscriptions=[uri]) as events:
            await act()
            return str((await anext(aiter(events))).uri)

    async def listen_tools(self, act: Callable[[], Awaitable[Any]]) -> bool:
        async with self.client.listen(tools_list_changed=True) as events:
            await act()
            return type(await anext(aiter(events))).__name__ == "ToolsListChanged"


async def main(report: contract.Report) -> None:
    options = contract.options()
    if options.is_sse:
        server = sse_client(options.url)
    elif options.url:
        server = options.url
    else:
        [command, *arguments] = options.command
        server = StdioServerParameters(command=command, args=arguments, env=contract.environment())
    peer = Peer()
    peer.client = Client(
        server,
        mode=MODES[options.era],
        client_info=types.Implementation(name="mcp2-peer", version="1.0.0"),
        logging_callback=peer.on_log,
        message_handler=peer.on_message,
        elicitation_callback=on_elicit,
        sampling_callback=on_sample,
        list_roots_callback=on_roots,
    )
    async with peer.client:
        await contract.tour(peer, report)


contract.run(main)
