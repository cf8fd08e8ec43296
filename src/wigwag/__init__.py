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
    from wigwag.client.listening import (
        PromptsListChanged,
        ResourcesListChanged,
        ResourceUpdated,
        ToolsListChanged,
    )
    from wigwag.errors import (
        ConnectionClosed,
        HttpStatusError,
        McpError,
        QuestionFailed,
        RequestFailed,
        RequestTimedOut,
        ResourceNotFound,
        ServerStartFailed,
        ServerUnreachable,
        SessionLost,
        ToolError,
        TransportError,
    )
    from wigwag.protocol.server import CacheHint
    from wigwag.server.context import Context
    from wigwag.server.dependencies import Depends, Resolve
    from wigwag.server.files import safe_join
    from wigwag.server.header import Header
    from wigwag.server.input_required import InputRequired
    from wigwag.server.limits import Limits
    from wigwag.server.media import Audio, File, Image
    from wigwag.server.principal import Principal
    from wigwag.server.prompt_messages import AssistantMessage, Message, UserMessage
    from wigwag.server.questions import (
        AcceptedElicitation,
        CancelledElicitation,
        DeclinedElicitation,
        ElicitationOutcome,
        ElicitationResult,
        elicit,
        elicit_url,
        list_roots,
        sample,
    )
    from wigwag.server.resolver_questions import Elicit, ListRoots, Sample
    from wigwag.server.resource_uris import ResourceSecurity
    from wigwag.server.results import ToolResult
    from wigwag.server.server import Server
    from wigwag.server.uri_templates import UriTemplate
    from wigwag.transports.stdio_client import StdioServerParameters

# Loaded when first used: a server does not pay for the client, nor a client for the server.
_HOMES = {
    "AcceptedElicitation": "wigwag.server.questions",
    "AssistantMessage": "wigwag.server.prompt_messages",
    "Audio": "wigwag.server.media",
    "CacheHint": "wigwag.protocol.server",
    "CancelledElicitation": "wigwag.server.questions",
    "Client": "wigwag.client.client",
    "ConnectionClosed": "wigwag.errors",
    "Context": "wigwag.server.context",
    "DeclinedElicitation": "wigwag.server.questions",
    "Depends": "wigwag.server.dependencies",
    "Elicit": "wigwag.server.resolver_questions",
    "ElicitationOutcome": "wigwag.server.questions",
    "ElicitationResult": "wigwag.server.questions",
    "File": "wigwag.server.media",
    "Header": "wigwag.server.header",
    "HttpStatusError": "wigwag.errors",
    "Image": "wigwag.server.media",
    "InputRequired": "wigwag.server.input_required",
    "Limits": "wigwag.server.limits",
    "ListRoots": "wigwag.server.resolver_questions",
    "McpError": "wigwag.errors",
    "Message": "wigwag.server.prompt_messages",
    "Principal": "wigwag.server.principal",
    "PromptsListChanged": "wigwag.client.listening",
    "QuestionFailed": "wigwag.errors",
    "RequestFailed": "wigwag.errors",
    "RequestTimedOut": "wigwag.errors",
    "Resolve": "wigwag.server.dependencies",
    "ResourceNotFound": "wigwag.errors",
    "ResourceSecurity": "wigwag.server.resource_uris",
    "ResourceUpdated": "wigwag.client.listening",
    "ResourcesListChanged": "wigwag.client.listening",
    "Sample": "wigwag.server.resolver_questions",
    "Server": "wigwag.server.server",
    "ServerStartFailed": "wigwag.errors",
    "ServerUnreachable": "wigwag.errors",
    "SessionLost": "wigwag.errors",
    "StdioServerParameters": "wigwag.transports.stdio_client",
    "Timeouts": "wigwag.client.client",
    "ToolError": "wigwag.errors",
    "ToolResult": "wigwag.server.results",
    "ToolsListChanged": "wigwag.client.listening",
    "TransportError": "wigwag.errors",
    "UriTemplate": "wigwag.server.uri_templates",
    "UserMessage": "wigwag.server.prompt_messages",
    "elicit": "wigwag.server.questions",
    "elicit_url": "wigwag.server.questions",
    "list_roots": "wigwag.server.questions",
    "safe_join": "wigwag.server.files",
    "sample": "wigwag.server.questions",
}

__all__ = [
    "AcceptedElicitation",
    "AssistantMessage",
    "Audio",
    "CacheHint",
    "CancelledElicitation",
    "Client",
    "ConnectionClosed",
    "Context",
    "DeclinedElicitation",
    "Depends",
    "Elicit",
    "ElicitationOutcome",
    "ElicitationResult",
    "File",
    "Header",
    "HttpStatusError",
    "Image",
    "InputRequired",
    "Limits",
    "ListRoots",
    "McpError",
    "Message",
    "Principal",
    "PromptsListChanged",
    "QuestionFailed",
    "RequestFailed",
    "RequestTimedOut",
    "Resolve",
    "ResourceNotFound",
    "ResourceSecurity",
    "ResourceUpdated",
    "ResourcesListChanged",
    "Sample",
    "Server",
    "ServerStartFailed",
    "ServerUnreachable",
    "SessionLost",
    "StdioServerParameters",
    "Timeouts",
    "ToolError",
    "ToolResult",
    "ToolsListChanged",
    "TransportError",
    "UriTemplate",
    "UserMessage",
    "__version__",
    "elicit",
    "elicit_url",
    "list_roots",
    "safe_join",
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
