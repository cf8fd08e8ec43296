"""FastMCP 4: a client, in either era."""

import os
import warnings
from typing import Any

os.environ.setdefault("FASTMCP_LOG_LEVEL", "CRITICAL")
os.environ.setdefault("FASTMCP_CHECK_FOR_UPDATES", "off")

import contract
import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

MODES = {"auto": "auto", "modern": "2026-07-28", "legacy": "legacy"}
warnings.simplefilter("ignore")


async def on_elicit(message: str, response_type: Any, params: Any, ctx: Any) -> dict[str, Any]:
    return {"name": f"Ada, asked '{message}'"}


async def on_sample(messages: Any, params: Any, ctx: Any) -> str:
    return messages[0].content.text.upper()


class Peer(contract.Client):
    client: Client

    async def on_log(self, params: Any) -> None:
        # Where the server is FastMCP too, it wraps what was said.
        self.logs.append(
            [params.level, params.data["msg"] if isinstance(params.data, dict) else params.data]
        )

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
            for tool in await self.client.list_tools()
        ]

    async def call(self, name, arguments, on_progress=None, log_level=None) -> dict[str, Any]:
        if log_level not in (
            None,
            "debug",
        ):  # its client asks for debug on every request, and for nothing else
            raise NotImplementedError
        kwargs = {"progress_handler": on_progress} if on_progress else {}
        result = await self.client.call_tool(name, arguments, raise_on_error=False, **kwargs)
        texts = [block.text for block in result.content if block.type == "text"]
        return {
            "text": "\n".join(texts),
            "structured": result.structured_content,
            "is_error": result.is_error,
        }

    async def resources(self) -> list[str]:
        return [str(resource.uri) for resource in await self.client.list_resources()]

    async def templates(self) -> list[str]:
        return [template.uri_template for template in await self.client.list_resource_templates()]

    async def read(self, uri: str) -> list[list[Any]]:
        return [
            [str(item.uri), item.mime_type, item.text]
            for item in await self.client.read_resource(uri)
        ]

    async def prompts(self) -> list[list[Any]]:
        return [
            [prompt.name, [a.name for a in prompt.arguments or []]]
            for prompt in await self.client.list_prompts()
        ]

    async def get(self, name: str, arguments: dict[str, str]) -> list[list[Any]]:
        result = await self.client.get_prompt(name, arguments)
        return [[message.role, message.content.text] for message in result.messages]

    async def complete(self, prompt: str, argument: str, value: str) -> dict[str, Any]:
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        completion = await self.client.complete(ref, {"name": argument, "value": value})
        return {
            "values": completion.values,
            "total": completion.total,
            "has_more": completion.has_more,
        }

    async def ping(self) -> bool:
        return await self.client.ping()

    async def set_level(self, level: Any) -> None:
        await self.client.set_logging_level(level)

    async def subscribe(self, uri: str) -> None:
        # Not a method of its own client; the SDK's session beneath has it.
        await self.client.session.subscribe_resource(uri)

    async def unsubscribe(self, uri: str) -> None:
        await self.client.session.unsubscribe_resource(uri)

    async def roots_changed(self) -> None:
        await self.client.send_roots_list_changed()


async def main(report: contract.Report) -> None:
    options = contract.options()
    if options.is_sse:
        transport = SSETransport(options.url)
    elif options.url:
        transport = StreamableHttpTransport(options.url)
    else:
        [command, *arguments] = options.command
        transport = StdioTransport(
            command=command, args=arguments, env=contract.environment(), keep_alive=False
        )
    peer = Peer()
    peer.client = Client(
        transport,
        mode=MODES[options.era],
        client_info=types.Implementation(name="fastmcp4-peer", version="1.0.0"),
        log_handler=peer.on_log,
        message_handler=peer.on_message,
        elicitation_handler=on_elicit,
        sampling_handler=on_sample,
        roots=["file:///demo"],
    )
    async with peer.client:
        await contract.tour(peer, report)


contract.run(main)
