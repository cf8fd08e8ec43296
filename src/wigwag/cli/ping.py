"""`wigwag ping`, which asks whether anybody is there."""

from __future__ import annotations

import time

import click

from wigwag.cli.failures import run
from wigwag.cli.output import json_option, print_json
from wigwag.cli.targets import Reach, TargetCommand, about_server

__all__ = ["ping_command"]


@click.command("ping", cls=TargetCommand)
@about_server
@click.option("--count", "-c", default=1, show_default=True, type=click.IntRange(1))
@json_option
def ping_command(*, reach: Reach, words: list[str], count: int, as_json: bool) -> None:
    """Ask a server for a sign of life, and time it."""
    if words:
        raise click.UsageError(f"unexpected: {' '.join(words)}")
    run(_ping(reach, count, as_json=as_json), as_json=as_json)


async def _ping(reach: Reach, count: int, *, as_json: bool) -> None:
    async with reach.client() as client:
        times = []
        for _ in range(count):
            begun = time.perf_counter()
            await client.ping()
            times.append(time.perf_counter() - begun)
            if not as_json:
                click.echo(f"answer in {times[-1] * 1000:.1f} ms")
        if as_json:
            print_json({"revision": client.revision, "milliseconds": [t * 1000 for t in times]})
