"""The official Python SDK, first line: a client. Legacy era only."""

from typing import Any

import contract
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def on_elicit(_ctx: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": f"Ada, asked '{params.message}'"})


async def on_sample(
    _ctx: Any, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    text = params.messages[0].content.text
    content = types.TextContent(type="text", text=text.upper())
    return types.CreateMessageResult(
        role="assistant", content=content, model="demo-model", stopReason="endTurn"
    )


async def on_roots(_ctx: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///demo", name="demo")])


class Peer(contract.Client):
    session: ClientSession

    async def on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.append([params.level, params.data])

    async def on_message(self, message: Any) -> None:
        inner = getattr(message, "root", None)
        if isinstance(inner, types.ResourceUpdatedNotification | types.ToolListChangedNotification):
            self.notified.put_nowait(inner.method)

    async def identity(self) -> dict[str, Any]:
        result = await self.session.initialize()
        return {
            "protocol_version": result.protocolVersion,
            "server": [result.serverInfo.name, result.serverInfo.version],
            "instructions": result.instructions,
            "capabilities": result.capabilities.model_dump(by_alias=True, exclude_none=True),
        }

    async def tools(self) -> list[dict[str, Any]]:
        return [
            {"name": tool.name, "input": tool.inputSchema, "output": tool.outputSchema}
            for tool in (await self.session.list_tools()).tools
        ]

    async def call(self, name, arguments, on_progress=None, log_level=None) -> dict[str, Any]:
        # A cancelled await tells the server nothing in this SDK, so the request id is taken here
        # to do it by hand.
        request_id = self.session._request_id
        try:
            result = await self.session.call_tool(name, arguments, progress_callback=on_progress)
        except BaseException as error:
            if not isinstance(error, Exception):
                params = types.CancelledNotificationParams(
                    requestId=request_id, reason="no longer needed"
                )
                notification = types.CancelledNotification(params=params)
                await self.session.send_notification(types.ClientNotification(notification))
            raise
        texts = [block.text for block in result.content if block.type == "text"]
        return {
            "text": "\n".join(texts),
            "structured": result.structuredContent,
            "is_error": result.isError,
        }

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in (await self.session.list_resources()).resources]

    async def templates(self) -> list[str]:
        return [
            template.uriTemplate
            for template in (await self.session.list_resource_templates()).resourceTemplates
        ]

    async def read(self, uri: str) -> list[list[Any]]:
        result = await self.session.read_resource(uri)
        return [[str(item.uri), item.mimeType, item.text] for item in result.contents]

    async def prompts(self) -> list[list[Any]]:
        result = await self.session.list_prompts()
        return [
            [prompt.name, [a.name for a in prompt.arguments or []]] for prompt in result.prompts
        ]

    async def get(self, name: str, arguments: dict[str, str]) -> list[list[Any]]:
        result = await self.session.get_prompt(name, arguments)
        return [[message.role, message.content.text] for message in result.messages]

    async def complete(self, prompt: str, argument: str, value: str) -> dict[str, Any]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        completion = (
            await self.session.complete(ref, {"name": argument, "value": value})
        ).completion
        return {
            "values": completion.values,
            "total": completion.total,
            "has_more": completion.hasMore,
        }

    async def ping(self) -> bool:
        await self.session.send_ping()
        return True

    async def set_level(self, level: Any) -> None:
        await self.session.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        await self.session.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self.session.unsubscribe_resource(uri)

    async def roots_changed(self) -> None:
        await self.session.send_roots_list_changed()


async def main(report: contract.Report) -> None:
    options = contract.options()
    if options.era != "legacy":
        types.LATEST_PROTOCOL_VERSION = options.era
    if options.is_sse:
        streams = sse_client(options.url)
    elif options.url:
        streams = streamable_http_client(options.url)
    else:
        [command, *arguments] = options.command
        streams = stdio_client(
            StdioServerParameters(command=command, args=arguments, env=contract.environment())
        )
    peer = Peer()
    async with (
        streams as (read, write, *_),
        ClientSession(
            read,
            write,
            client_info=types.Implementation(name="mcp1-peer", version="1.0.0"),
            logging_callback=peer.on_log,
            message_handler=peer.on_message,
            elicitation_callback=on_elicit,
            sampling_callback=on_sample,
            list_roots_callback=on_roots,
        ) as peer.session,
    ):
        await contract.tour(peer, report)


contract.run(main)
