"""`wigwag ping`, which asks whether anybody is there."""

from __future__ import annotations

import time

import click

from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command, unexpected

__all__ = ["ping_command"]


@server_command(
    "ping",
    click.option(
        "--count", "-c", default=1, show_default=True, type=click.IntRange(1), help="How often."
    ),
)
async def ping_command(
    conversation: Conversation, words: list[str], *, as_json: bool, count: int
) -> ExitCode | None:
    r"""Ask a server for a sign of life, and time it.

    \b
        wigwag ping server.py
        wigwag ping --count 10 https://example.com/mcp
        wigwag ping -- npx -y some-server
    """
    unexpected(words)
    client = conversation.client
    times = []
    for _ in range(count):
        begun = time.perf_counter()
        await client.ping()
        times.append((time.perf_counter() - begun) * 1000)
        if not as_json:
            click.echo(f"answer in {times[-1]:.1f} ms")
    if as_json:
        print_json({"revision": client.revision, "milliseconds": times})
    elif count > 1:
        mean = sum(times) / count
        click.echo(f"min {min(times):.1f}, mean {mean:.1f}, max {max(times):.1f} ms")
    return None
