"""The client that the conformance suite tests: does what a scenario wants of it.

    python conformance/client.py URL

The suite names the scenario in `MCP_CONFORMANCE_SCENARIO`, the revision in
`MCP_CONFORMANCE_PROTOCOL_VERSION`, and data for it, if any, as JSON in `MCP_CONFORMANCE_CONTEXT`.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.authorization import REFUSED, authorization_for
from conformance.counting import COMPLETED
from wigwag import Client
from wigwag.schema import (
    MODERN_REVISIONS,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    TextContent,
    Tool,
)

# The suite's own limit is longer: it is we who are to say that something hangs.
LIMIT_SECONDS: Final = 20.0

Scenario = Callable[[Client, dict[str, Any]], Awaitable[None]]


def answer_sampling(params: CreateMessageRequestParams) -> CreateMessageResult:
    """Stand in for a model."""
    return CreateMessageResult(
        role="assistant", content=TextContent(text="A model's answer."), model="none"
    )


def answer_elicitation(params: ElicitRequestFormParams) -> dict[str, Any]:
    """Stand in for a user, who leaves a form as it is, but for what has to be confirmed."""
    return {"confirmed": True} if "confirmed" in params.requested_schema["properties"] else {}


async def list_only(client: Client, context: dict[str, Any]) -> None:
    """List the tools."""
    await client.list_tools()


async def add_numbers(client: Client, context: dict[str, Any]) -> None:
    """Call the tool that adds."""
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def fill_in_defaults(client: Client, context: dict[str, Any]) -> None:
    """Call a tool that asks for what has defaults."""
    await client.list_tools()
    await client.call_tool("test_client_elicitation_defaults")


async def resume(client: Client, context: dict[str, Any]) -> None:
    """Call a tool whose answer comes on another stream."""
    await client.list_tools()
    result = await client.call_tool("test_reconnection")
    assert not result.is_error, result


async def echo_schema(client: Client, context: dict[str, Any]) -> None:
    """Give a schema back as it was received."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = tools["json_schema_2020_12_tool"].input_schema
    await client.call_tool("json_schema_echo", {"schema": schema})


async def use_everything(client: Client, context: dict[str, Any]) -> None:
    """List and use features of every kind."""
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, arguments_for(tool))
    for resource in (await client.list_resources()).resources:
        await client.read_resource(resource.uri)
    for prompt in (await client.list_prompts()).prompts:
        await client.get_prompt(prompt.name)


async def call_as_told(client: Client, context: dict[str, Any]) -> None:
    """Make the calls that the context lists."""
    await client.list_tools()
    for call in context["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def call_all(client: Client, context: dict[str, Any]) -> None:
    """Call every tool that there is to the client."""
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, arguments_for(tool))


async def use_test_tool(client: Client, context: dict[str, Any]) -> None:
    """List the tools, and call the one that wants a token."""
    await client.list_tools()
    await client.call_tool("test-tool")


async def retry_with_state(client: Client, context: dict[str, Any]) -> None:
    """Call tools that ask, and one that does not say what its result is."""
    await client.list_tools()
    for name in (
        "test_mrtr_echo_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ):
        result = await client.call_tool(name)
        assert not result.is_error, result


def arguments_for(tool: Tool) -> dict[str, Any]:
    """Make up arguments that a tool requires."""
    samples = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": []}
    properties = tool.input_schema.get("properties", {})
    return {
        name: samples.get(properties.get(name, {}).get("type"), {})
        for name in tool.input_schema.get("required", ())
    }


SCENARIOS: Final[dict[str, Scenario]] = {
    "elicitation-sep1034-client-defaults": fill_in_defaults,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_all,
    "http-standard-headers": use_everything,
    "initialize": list_only,
    "json-schema-2020-12-preservation": echo_schema,
    "json-schema-ref-no-deref": list_only,
    "request-metadata": call_all,
    "sep-2322-client-request-state": retry_with_state,
    "sse-retry": resume,
    "tools_call": add_numbers,
}


async def run(client: Client, scenario: Scenario, context: dict[str, Any]) -> str | None:
    """Run a scenario; return the revision that was agreed upon."""
    async with asyncio.timeout(LIMIT_SECONDS), client:
        await scenario(client, context)
        return client.protocol_version


async def main(url: str) -> None:
    """Do what the scenario wants."""
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    revision = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    client = Client(
        url,
        sampling=answer_sampling,
        elicitation=answer_elicitation,
        roots=[Path(__file__).parent],
        auth=authorization_for(name, context),
    )
    running = run(client, SCENARIOS.get(name, use_test_tool), context)
    if name in REFUSED:
        try:
            await running
        except REFUSED[name]:
            print(COMPLETED + name)
            return
        sys.exit("the client is authorized, and must not be")
    found = await running
    if (found in MODERN_REVISIONS) != (revision in MODERN_REVISIONS):
        sys.exit(f"the server speaks {revision}, and the client went for {found}")
    print(COMPLETED + name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1]))
