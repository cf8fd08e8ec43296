"""`wigwag call`, which calls a tool."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any, Final

import click
import msgspec
from msgspec import UNSET

from wigwag import Client
from wigwag.cli.contents import Printer, print_text, save_option
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command
from wigwag.client.terminal_lines import visible_lines
from wigwag.client.tool_arguments import find_named, tool_arguments
from wigwag.errors import McpError
from wigwag.schema import CallToolResult, TextContent, Tool

__all__ = ["call_command"]

# How long to wait for the server when a task is called off.
_CANCEL_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 1.0


@server_command(
    "call",
    save_option,
    click.option("--task", is_flag=True, help="Call it as a task of revision 2025-11-25."),
    click.option(
        "--unchecked",
        is_flag=True,
        help="Send the arguments as they are, also if the tool does not take them.",
    ),
    words="TOOL [ARGUMENT]...",
    talks=True,
)
async def call_command(
    conversation: Conversation,
    words: list[str],
    *,
    as_json: bool,
    save: str | None,
    task: bool,
    unchecked: bool,
) -> ExitCode | None:
    r"""Call a tool.

    An ARGUMENT is name=value; what the value is, the tool's input schema says. `wigwag list TARGET
    TOOL` shows what it takes.

    \b
        wigwag call server.py add a=1 b=2
        wigwag call server.py tag names=red names=blue    a list
        wigwag call server.py plot points:='[[1,2],[3,4]]'    JSON
        wigwag call server.py summarize text=@notes.txt    the text of a file
        wigwag call server.py add '{"a": 1, "b": 2}'    all of them as JSON
        wigwag call server.py add @arguments.json    the same in a file, - for standard input
        wigwag call add a=1 b=2 -- npx -y some-server

    Nothing is sent if the tool does not take the arguments. What the server asks meanwhile, you
    are asked, if you are at a terminal; --answer answers beforehand.

    Exits with 1 if the tool fails.
    """
    client = conversation.client
    tools = (await client.list_tools()).tools
    if not words:
        known = ", ".join(tool.name for tool in tools) or "it has none"
        raise ValueError(f"say which tool: {known}")
    name, *given = words
    try:
        tool = find_named(name, tools)
    except ValueError:
        if not unchecked:
            raise
        tool = Tool(name=name, input_schema={})
    arguments = tool_arguments(given, tool, check=not unchecked)
    if task or _wants_task(client, tool):
        result, raw = await _as_task(conversation, name, arguments)
    else:
        called = await client.call_tool(
            name,
            arguments,
            check_output=not unchecked,
            on_progress=conversation.notices.progress,
        )
        result, raw = called, called.raw
    conversation.notices.clear()
    printer = Printer(save, name)
    if as_json:
        printer.save(result.content)
        print_json(raw)
    elif result.is_error:
        _tell_failure(name, result)
        printer.print([each for each in result.content if not isinstance(each, TextContent)])
    else:
        _print(result, printer)
    return ExitCode.FAILED if result.is_error else None


def _print(result: CallToolResult, printer: Printer) -> None:
    printer.print(result.content)
    structured = result.structured_content
    if structured is UNSET or _is_said_already(result, structured):
        return
    print_text(json.dumps(structured, ensure_ascii=False, indent=2))


def _is_said_already(result: CallToolResult, structured: Any) -> bool:
    """Tell whether the content is the structured content once more, as text."""
    for block in result.content:
        if isinstance(block, TextContent):
            with suppress(ValueError, RecursionError):
                said = json.loads(block.text)
                if said == structured or {"result": said} == structured:
                    return True
            if structured == {"result": block.text}:
                return True
    return False


def _tell_failure(name: str, result: CallToolResult) -> None:
    text = visible_lines(result.text) or "it does not say why"
    click.echo(f"wigwag: the tool {name!r} failed: {text}", err=True)


# --- tasks


def _wants_task(client: Client, tool: Tool) -> bool:
    needs = tool.execution is not UNSET and tool.execution.task_support == "required"
    return needs and client.capabilities.tasks is not UNSET


async def _as_task(
    conversation: Conversation, name: str, arguments: dict[str, Any]
) -> tuple[CallToolResult, Any]:
    """Call a tool as a task, and tell how it stands until it is done."""
    client = conversation.client
    task = (await client.call_tool_as_task(name, arguments)).task
    conversation.notices.say(f"wigwag: this is task {visible_lines(task.task_id)}")
    waiting = asyncio.create_task(client.get_task_result(task.task_id))
    told = ""
    try:
        while not waiting.done():
            pause = _POLL_SECONDS if task.poll_interval is UNSET else task.poll_interval / 1000
            await asyncio.wait([waiting], timeout=max(pause, 0.05))
            if waiting.done():
                break
            task = await client.get_task(task.task_id)
            message = "" if task.status_message is UNSET else f": {task.status_message}"
            stands = visible_lines(f"{task.status}{message}")
            if stands != told:
                told = stands
                conversation.notices.say(f"wigwag: the task is {stands}")
        result = await waiting
    except asyncio.CancelledError:
        with suppress(McpError, TimeoutError):
            await asyncio.wait_for(client.cancel_task(task.task_id), _CANCEL_SECONDS)
        raise
    finally:
        waiting.cancel()
    return result, msgspec.to_builtins(result)
