"""Wigwag: a Model Context Protocol toolkit.

`Server` turns functions into tools, resources and prompts; `Client` talks to any server. The types
of the protocol are in `wigwag.schema`, the exceptions in `wigwag.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wigwag._version import __version__

if TYPE_CHECKING:
    from wigwag.client.client import Client, Timeouts
    from wigwag.errors import (
        ConnectionClosed,
        McpError,
        RequestFailed,
        RequestTimedOut,
        ServerStartFailed,
        ToolError,
        TransportError,
    )
    from wigwag.server.context import Context
    from wigwag.server.server import Limits, Server
    from wigwag.transports.stdio_client import StdioServerParameters

# Loaded when first used: a server does not pay for the client, nor a client for the server.
_HOMES = {
    "Client": "wigwag.client.client",
    "ConnectionClosed": "wigwag.errors",
    "Context": "wigwag.server.context",
    "Limits": "wigwag.server.server",
    "McpError": "wigwag.errors",
    "RequestFailed": "wigwag.errors",
    "RequestTimedOut": "wigwag.errors",
    "Server": "wigwag.server.server",
    "ServerStartFailed": "wigwag.errors",
    "StdioServerParameters": "wigwag.transports.stdio_client",
    "Timeouts": "wigwag.client.client",
    "ToolError": "wigwag.errors",
    "TransportError": "wigwag.errors",
}

__all__ = [
    "Client",
    "ConnectionClosed",
    "Context",
    "Limits",
    "McpError",
    "RequestFailed",
    "RequestTimedOut",
    "Server",
    "ServerStartFailed",
    "StdioServerParameters",
    "Timeouts",
    "ToolError",
    "TransportError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
