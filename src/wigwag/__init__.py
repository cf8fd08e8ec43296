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
        HttpStatusError,
        McpError,
        QuestionFailed,
        RequestFailed,
        RequestTimedOut,
        ServerStartFailed,
        ServerUnreachable,
        SessionLost,
        ToolError,
        TransportError,
    )
    from wigwag.server.context import Context
    from wigwag.server.input_required import InputRequired
    from wigwag.server.questions import (
        AcceptedElicitation,
        CancelledElicitation,
        DeclinedElicitation,
        elicit,
        elicit_url,
        list_roots,
        sample,
    )
    from wigwag.server.server import Limits, Server
    from wigwag.transports.stdio_client import StdioServerParameters

# Loaded when first used: a server does not pay for the client, nor a client for the server.
_HOMES = {
    "AcceptedElicitation": "wigwag.server.questions",
    "CancelledElicitation": "wigwag.server.questions",
    "Client": "wigwag.client.client",
    "ConnectionClosed": "wigwag.errors",
    "Context": "wigwag.server.context",
    "DeclinedElicitation": "wigwag.server.questions",
    "HttpStatusError": "wigwag.errors",
    "InputRequired": "wigwag.server.input_required",
    "Limits": "wigwag.server.server",
    "McpError": "wigwag.errors",
    "QuestionFailed": "wigwag.errors",
    "RequestFailed": "wigwag.errors",
    "RequestTimedOut": "wigwag.errors",
    "Server": "wigwag.server.server",
    "ServerStartFailed": "wigwag.errors",
    "ServerUnreachable": "wigwag.errors",
    "SessionLost": "wigwag.errors",
    "StdioServerParameters": "wigwag.transports.stdio_client",
    "Timeouts": "wigwag.client.client",
    "ToolError": "wigwag.errors",
    "TransportError": "wigwag.errors",
    "elicit": "wigwag.server.questions",
    "elicit_url": "wigwag.server.questions",
    "list_roots": "wigwag.server.questions",
    "sample": "wigwag.server.questions",
}

__all__ = [
    "AcceptedElicitation",
    "CancelledElicitation",
    "Client",
    "ConnectionClosed",
    "Context",
    "DeclinedElicitation",
    "HttpStatusError",
    "InputRequired",
    "Limits",
    "McpError",
    "QuestionFailed",
    "RequestFailed",
    "RequestTimedOut",
    "Server",
    "ServerStartFailed",
    "ServerUnreachable",
    "SessionLost",
    "StdioServerParameters",
    "Timeouts",
    "ToolError",
    "TransportError",
    "__version__",
    "elicit",
    "elicit_url",
    "list_roots",
    "sample",
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
