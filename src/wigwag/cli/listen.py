"""`wigwag listen`, which tells what changes at a server."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Any, Final

import click
from msgspec import UNSET

from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command
from wigwag.client.listening import Changes
from wigwag.client.terminal_lines import visible
from wigwag.protocol.subscriptions import FILTER_MEMBERS, Change
from wigwag.schema import SubscriptionFilter

__all__ = ["listen_command"]

_LISTS: Final = ("tools", "prompts", "resources")
_WORDS: Final = {
    "tools_list_changed": "the list of tools",
    "prompts_list_changed": "the list of prompts",
    "resources_list_changed": "the list of resources",
}


@server_command(
    "listen",
    click.option("--tools", is_flag=True, help="Changes of the list of tools."),
    click.option("--prompts", is_flag=True, help="Changes of the list of prompts."),
    click.option("--resources", is_flag=True, help="Changes of the list of resources."),
    click.option("--count", "-c", type=click.IntRange(1), help="Leave after so many changes."),
    click.option(
        "--for",
        "seconds",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Leave after this time.",
    ),
    words="[URI]...",
    talks=True,
)
async def listen_command(
    conversation: Conversation,
    words: list[str],
    *,
    as_json: bool,
    tools: bool,
    prompts: bool,
    resources: bool,
    count: int | None,
    seconds: float | None,
) -> ExitCode | None:
    r"""Tell what changes at a server, until Ctrl+C: a line for each change.

    With neither options nor URIs it listens for changes of all lists; a URI is that of a resource.
    Log messages of the server are shown, too.

    \b
        wigwag listen server.py
        wigwag listen https://example.com/mcp docs://index
        wigwag listen --tools --count 1 --json server.py
    """
    asked = {"tools": tools, "prompts": prompts, "resources": resources}
    if not words and not any(asked.values()):
        asked = dict.fromkeys(_LISTS, True)
    async with AsyncExitStack() as stack:
        changes = await stack.enter_async_context(
            conversation.client.listen(
                tools=asked["tools"],
                prompts=asked["prompts"],
                resources=asked["resources"],
                uris=words,
            )
        )
        _tell_what_is_not_reported(conversation, changes)
        if not as_json:
            conversation.notices.say(f"wigwag: listening for {_listed(changes.honored)}")
        try:
            async with asyncio.timeout(seconds):
                await _print_changes(changes, count, as_json=as_json)
        except TimeoutError:
            return None
        if count is None:
            conversation.notices.say("wigwag: the server has ended it")
    return None


async def _print_changes(changes: Changes, count: int | None, *, as_json: bool) -> None:
    left = count
    async for change in changes:
        if as_json:
            print_json(_as_sent(change))
        else:
            click.echo(_in_words(change))
        sys.stdout.flush()
        if left is not None:
            left -= 1
            if left == 0:
                return


def _as_sent(change: Change) -> dict[str, Any]:
    return {"method": change.method} | ({} if change.uri is None else {"uri": change.uri})


def _in_words(change: Change) -> str:
    member = FILTER_MEMBERS.get(change.method, "")
    what = visible(change.uri) if change.uri is not None else _WORDS.get(member, change.method)
    return f"{what} has changed"


def _tell_what_is_not_reported(conversation: Conversation, changes: Changes) -> None:
    wanted, honored = changes.wanted, changes.honored
    missing = [
        words
        for member, words in _WORDS.items()
        if getattr(wanted, member) is True and getattr(honored, member) is not True
    ]
    agreed = honored.resource_subscriptions or ()
    missing += [visible(uri) for uri in wanted.resource_subscriptions or () if uri not in agreed]
    if missing:
        conversation.notices.say(
            f"wigwag: the server does not report changes of {', '.join(missing)}"
        )


def _listed(honored: SubscriptionFilter) -> str:
    lists = [words for member, words in _WORDS.items() if getattr(honored, member) is True]
    uris = () if honored.resource_subscriptions is UNSET else honored.resource_subscriptions
    return f"changes of {', '.join([*lists, *map(visible, uris)])}"
