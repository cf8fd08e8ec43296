"""`wigwag prompt`, which fills in a prompt."""

from __future__ import annotations

import sys

import click
import msgspec
from msgspec import UNSET

from wigwag.cli.contents import Printer, save_option
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.output import print_json, styled
from wigwag.cli.server_commands import server_command
from wigwag.client.terminal_lines import visible
from wigwag.client.tool_arguments import find_named, prompt_arguments

__all__ = ["prompt_command"]


@server_command("prompt", save_option, words="NAME [ARGUMENT]...", talks=True)
async def prompt_command(
    conversation: Conversation, words: list[str], *, as_json: bool, save: str | None
) -> ExitCode | None:
    r"""Fill in a prompt, and show its messages.

    An ARGUMENT is name=value, or name=@file for the text of a file.

    \b
        wigwag prompt server.py triage ticket_id=KITE-142
        wigwag prompt triage ticket_id=KITE-142 -- npx -y some-server
    """
    client = conversation.client
    prompts = (await client.list_prompts()).prompts
    if not words:
        known = ", ".join(prompt.name for prompt in prompts) or "it has none"
        raise ValueError(f"say which prompt: {known}")
    name, *given = words
    arguments = prompt_arguments(given, find_named(name, prompts))
    result = await client.get_prompt(
        name, arguments or None, on_progress=conversation.notices.progress
    )
    conversation.notices.clear()
    printer = Printer(save, name)
    if as_json:
        printer.save([message.content for message in result.messages])
        print_json(msgspec.to_builtins(result))
        return None
    if result.description is not UNSET:
        click.echo(styled(visible(result.description), sys.stdout, dim=True))
    for message in result.messages:
        click.echo(styled(f"{message.role}:", sys.stdout, bold=True))
        printer.print([message.content])
    return None
