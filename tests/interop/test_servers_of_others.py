"""Wigwag's client against servers made with the SDKs of others, in every era they speak.

One tour for each (`peers/contract.py`, with Wigwag in `our_client.py`); the tests look at what it
brought home. Where peers differ, `PEERS` says how, and why nothing of it is ours.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, conversation, our_client
from tests.interop.conversation import MODERN, Record

SDKS: Final = {peer.name: peer for peer in catalogue.SDKS}
RUNS: Final = [
    (peer, era) for peer in catalogue.SDKS for era in ("auto", *peer.eras) if era != "auto" or True
]


@dataclass(frozen=True)
class Traits:
    """What one peer's server does in its own way."""

    failure: str
    """What the model is told when the tool raises `broken on purpose`."""
    unknown_tool: str | int = -32602
    """The text of an `isError` result, or the code of an error."""
    unknown_resource: int = -32602
    unknown_prompt: dict[str, int] = field(
        default_factory=lambda: {"legacy": -32602, "modern": -32602}
    )
    """Also the code where a prompt's argument is missing."""
    counts_completions: bool = True
    declares_subscribe: bool = True
    filters_legacy_logs: bool = True
    listens: bool = True
    log_key: str | None = None
    """Where the message is, when it sends an object."""


PEERS: Final = {
    # Its MCPServer keeps no log level (the handler in our peer accepts and forgets), has no code
    # of its own for prompts: 0 in the legacy era, an internal error in the modern one.
    "mcp2": Traits(
        failure="Error executing tool fail",
        unknown_tool="Unknown tool: nonesuch",
        unknown_prompt={"legacy": 0, "modern": -32603},
        filters_legacy_logs=False,
    ),
    # Every exception of a handler is code 0; `subscribe` is declared false whatever is registered.
    "mcp1": Traits(
        failure="Error executing tool fail: broken on purpose",
        unknown_tool="Unknown tool: nonesuch",
        unknown_resource=0,
        unknown_prompt={"legacy": 0},
        declares_subscribe=False,
        filters_legacy_logs=False,
    ),
    # No subscriptions in either era on stdio; log messages are objects.
    "fastmcp4": Traits(
        failure="Error calling tool 'fail': broken on purpose",
        unknown_tool="Unknown tool: 'nonesuch'",
        counts_completions=False,
        declares_subscribe=False,
        listens=False,
        log_key="msg",
    ),
    "tsv2": Traits(failure="broken on purpose"),
    "tsv1": Traits(
        failure="broken on purpose", unknown_tool="MCP error -32602: Tool nonesuch not found"
    ),
}
