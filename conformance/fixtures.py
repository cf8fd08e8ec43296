"""The features that the conformance suite expects of a server, but for those that ask the client.

Names, texts and behaviour are the suite's.
"""

import asyncio
import base64
from typing import Annotated, Any, Final

import msgspec

from wigwag import Context, Server, ToolError
from wigwag.schema import (
    AudioContent,
    ClientCapabilities,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    SamplingCapability,
    TextContent,
    TextResourceContents,
)

PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SILENCE: Final = (
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
    b"\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00"
)
STEP_SECONDS: Final = 0.05

server: Final = Server("wigwag-conformance", version="1.0.0")


def image() -> ImageContent:
    """A picture of one dot."""
    return ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A resource with its text."""
    return EmbeddedResource(resource=TextResourceContents(uri=uri, text=text, mime_type=mime_type))


# --- tools: the first one must take no arguments


@server.tool
async def test_simple_text() -> str:
    """Give a text."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> ImageContent:
    """Give a picture."""
    return image()


@server.tool
async def test_audio_content() -> AudioContent:
    """Give a sound."""
    return AudioContent(data=base64.b64encode(SILENCE).decode(), mime_type="audio/wav")


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """Give a resource."""
    return embedded("test://embedded-resource", "This is an embedded resource content.")


@server.tool
async def test_multiple_content_types() -> list[ContentBlock]:
    """Give a text, a picture and a resource."""
    return [
        TextContent(text="Multiple content types test:"),
        image(),
        embedded(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        ),
    ]


@server.tool
async def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress."""
    await ctx.report_progress(0, total=100)
    await asyncio.sleep(STEP_SECONDS)
    await ctx.report_progress(50, total=100)
    await asyncio.sleep(STEP_SECONDS)
    await ctx.report_progress(100, total=100)
    return "Done."


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Send log messages."""
    await ctx.info("Tool execution started")
    await asyncio.sleep(STEP_SECONDS)
    await ctx.info("Tool processing data")
    await asyncio.sleep(STEP_SECONDS)
    await ctx.info("Tool execution completed")
    return "Done."


@server.tool
async def test_logging_tool(ctx: Context) -> str:
    """Send log messages to those who want them."""
    await ctx.debug("looking")
    await ctx.error("found nothing")
    return "Done."


@server.tool
async def test_reconnection(ctx: Context) -> str:
    """Answer on another stream than the one that the call came with."""
    await ctx.close_stream()
    await asyncio.sleep(2 * STEP_SECONDS)
    return "Answered after the stream was closed."


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Need a model at the client."""
    ctx.require_capability(ClientCapabilities(sampling=SamplingCapability()))
    return "The client has a model."


@server.tool
async def test_trigger_tool_change() -> str:
    """Change the list of tools."""
    server.tools_changed()
    return "Changed."


@server.tool
async def test_trigger_prompt_change() -> str:
    """Change the list of prompts."""
    server.prompts_changed()
    return "Changed."


@server.tool
async def test_x_mcp_header(
    region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})],
) -> str:
    """Repeat an argument that a header repeats too."""
    return region


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"],
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
async def json_schema_2020_12_tool(arguments: dict[str, Any]) -> str:
    """Take what a schema with keywords of every kind describes."""
    return f"Called with {', '.join(sorted(arguments))}."


# --- resources


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """A text that stays the same."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """A picture that stays the same."""
    return PNG


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """A text to subscribe to."""
    return "Watched."


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> dict[str, Any]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# --- prompts


@server.prompt
async def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.completion("test_prompt_with_arguments", "arg1")
async def complete_arg1(typed: str) -> list[str]:
    """Values that begin with what was typed."""
    return [value for value in ("test", "testing", "other") if value.startswith(typed)]


@server.prompt
async def test_prompt_with_embedded_resource(
    resourceUri: str,  # noqa: N803 - the suite's name
) -> list[EmbeddedResource | TextContent]:
    """A prompt with a resource in it."""
    return [
        embedded(resourceUri, "Embedded resource content for testing."),
        TextContent(text="Please process the embedded resource above."),
    ]


@server.prompt
async def test_prompt_with_image() -> list[ImageContent | TextContent]:
    """A prompt with a picture in it."""
    return [image(), TextContent(text="Please analyze the image above.")]
