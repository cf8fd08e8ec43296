"""Wigwag: a Model Context Protocol toolkit.

`Server` turns functions into tools, resources and prompts; `Client` talks to any server. The types
of the protocol are in `wigwag.schema`, the exceptions in `wigwag.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from wigwag._version import __version__

if TYPE_CHECKING:
    from wigwag.client.authorization.accounts import Account, authorization_status, log_in, log_out
    from wigwag.client.authorization.assertions import EnvironmentAssertion, FileAssertion
    from wigwag.client.authorization.browser_login import BrowserLogin
    from wigwag.client.authorization.client_document import (
        check_client_document,
        create_client_document,
    )
    from wigwag.client.authorization.given_tokens import ApiKey, BearerToken
    from wigwag.client.authorization.oauth import (
        ClientCredentials,
        EnterpriseManaged,
        OAuth,
        WorkloadIdentity,
    )
    from wigwag.client.authorization.terminal_login import TerminalLogin
    from wigwag.client.cache_policy import CachePolicy
    from wigwag.client.client import Client
    from wigwag.client.configuration import load_configuration
    from wigwag.client.events import ClientEvent
    from wigwag.client.following import FollowedCall
    from wigwag.client.group import ClientGroup
    from wigwag.client.healing import Healing
    from wigwag.client.link import Timeouts
    from wigwag.client.listening import (
        PromptsListChanged,
        ResourcesListChanged,
        ResourceUpdated,
        ToolsListChanged,
    )
    from wigwag.client.middleware import ClientContext
    from wigwag.client.saved_content import save_content
    from wigwag.client.sync import SyncClient, connect_sync
    from wigwag.client.terminal import terminal_elicitation
    from wigwag.client.terminal_sampling import terminal_sampling
    from wigwag.client.tool_arguments import tool_arguments
    from wigwag.client.tool_results import ToolCallResult
    from wigwag.doctor.configurations import diagnose_configuration
    from wigwag.doctor.diagnosing import diagnose
    from wigwag.doctor.findings import Diagnosis, Finding
    from wigwag.doctor.patience import Patience
    from wigwag.errors import (
        AuthorizationFailed,
        ConnectionClosed,
        HttpStatusError,
        InvalidToken,
        McpError,
        QuestionFailed,
        RequestFailed,
        RequestTimedOut,
        ResourceNotFound,
        ServerNotLoaded,
        ServerStartFailed,
        ServerUnreachable,
        SessionLost,
        ToolError,
        ToolFailed,
        TransportError,
        VerifierUnavailable,
    )
    from wigwag.protocol.server import CacheHint
    from wigwag.server.asking.input_required import InputRequired
    from wigwag.server.asking.questions import (
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
    from wigwag.server.asking.resolver_questions import Elicit, ListRoots, Sample
    from wigwag.server.authorization.contract import TokenVerifier, VerifiedToken
    from wigwag.server.authorization.introspection_verifier import IntrospectionVerifier
    from wigwag.server.authorization.jwt_verifier import JwtVerifier
    from wigwag.server.authorization.proof_checking import DPoPRules
    from wigwag.server.authorization.static_tokens import StaticTokens
    from wigwag.server.context import Context
    from wigwag.server.files import safe_join
    from wigwag.server.limits import Limits
    from wigwag.server.loading import load_server
    from wigwag.server.parameters.dependencies import Depends, Resolve
    from wigwag.server.parameters.header import Header
    from wigwag.server.principal import Principal
    from wigwag.server.protection import Protection
    from wigwag.server.results.media import Audio, File, Image
    from wigwag.server.results.prompt_messages import AssistantMessage, Message, UserMessage
    from wigwag.server.results.tool_results import ToolResult
    from wigwag.server.running import run_server
    from wigwag.server.server import Server
    from wigwag.server.uris.resource_uris import ResourceSecurity
    from wigwag.server.uris.templates import UriTemplate
    from wigwag.stores.file_tokens import FileTokenStore
    from wigwag.stores.keyring_tokens import KeyringTokenStore
    from wigwag.stores.memory_tokens import MemoryTokenStore
    from wigwag.tracing.comparing import Comparison, replay_against
    from wigwag.tracing.html_page import recording_page
    from wigwag.tracing.http_relay import HttpRelay
    from wigwag.tracing.records import MessageRecord, read_recording
    from wigwag.tracing.replaying import ReplayServer
    from wigwag.tracing.stdio_relay import relay_stdio
    from wigwag.transports.stdio_client import StdioServerParameters

# Loaded when first used: a server does not pay for the client, nor a client for the server.
_HOMES = {
    "AcceptedElicitation": "wigwag.server.asking.questions",
    "Account": "wigwag.client.authorization.accounts",
    "ApiKey": "wigwag.client.authorization.given_tokens",
    "AssistantMessage": "wigwag.server.results.prompt_messages",
    "Audio": "wigwag.server.results.media",
    "AuthorizationFailed": "wigwag.errors",
    "BearerToken": "wigwag.client.authorization.given_tokens",
    "BrowserLogin": "wigwag.client.authorization.browser_login",
    "CacheHint": "wigwag.protocol.server",
    "CachePolicy": "wigwag.client.cache_policy",
    "CancelledElicitation": "wigwag.server.asking.questions",
    "Client": "wigwag.client.client",
    "ClientContext": "wigwag.client.middleware",
    "ClientCredentials": "wigwag.client.authorization.oauth",
    "ClientEvent": "wigwag.client.events",
    "ClientGroup": "wigwag.client.group",
    "Comparison": "wigwag.tracing.comparing",
    "ConnectionClosed": "wigwag.errors",
    "Context": "wigwag.server.context",
    "DPoPRules": "wigwag.server.authorization.proof_checking",
    "DeclinedElicitation": "wigwag.server.asking.questions",
    "Depends": "wigwag.server.parameters.dependencies",
    "Diagnosis": "wigwag.doctor.findings",
    "Elicit": "wigwag.server.asking.resolver_questions",
    "ElicitationOutcome": "wigwag.server.asking.questions",
    "ElicitationResult": "wigwag.server.asking.questions",
    "EnterpriseManaged": "wigwag.client.authorization.oauth",
    "EnvironmentAssertion": "wigwag.client.authorization.assertions",
    "File": "wigwag.server.results.media",
    "FileAssertion": "wigwag.client.authorization.assertions",
    "FileTokenStore": "wigwag.stores.file_tokens",
    "Finding": "wigwag.doctor.findings",
    "FollowedCall": "wigwag.client.following",
    "Header": "wigwag.server.parameters.header",
    "Healing": "wigwag.client.healing",
    "HttpRelay": "wigwag.tracing.http_relay",
    "HttpStatusError": "wigwag.errors",
    "Image": "wigwag.server.results.media",
    "InputRequired": "wigwag.server.asking.input_required",
    "IntrospectionVerifier": "wigwag.server.authorization.introspection_verifier",
    "InvalidToken": "wigwag.errors",
    "JwtVerifier": "wigwag.server.authorization.jwt_verifier",
    "KeyringTokenStore": "wigwag.stores.keyring_tokens",
    "Limits": "wigwag.server.limits",
    "ListRoots": "wigwag.server.asking.resolver_questions",
    "McpError": "wigwag.errors",
    "MemoryTokenStore": "wigwag.stores.memory_tokens",
    "Message": "wigwag.server.results.prompt_messages",
    "MessageRecord": "wigwag.tracing.records",
    "OAuth": "wigwag.client.authorization.oauth",
    "Patience": "wigwag.doctor.patience",
    "Principal": "wigwag.server.principal",
    "PromptsListChanged": "wigwag.client.listening",
    "Protection": "wigwag.server.protection",
    "QuestionFailed": "wigwag.errors",
    "ReplayServer": "wigwag.tracing.replaying",
    "RequestFailed": "wigwag.errors",
    "RequestTimedOut": "wigwag.errors",
    "Resolve": "wigwag.server.parameters.dependencies",
    "ResourceNotFound": "wigwag.errors",
    "ResourceSecurity": "wigwag.server.uris.resource_uris",
    "ResourceUpdated": "wigwag.client.listening",
    "ResourcesListChanged": "wigwag.client.listening",
    "Sample": "wigwag.server.asking.resolver_questions",
    "Server": "wigwag.server.server",
    "ServerNotLoaded": "wigwag.errors",
    "ServerStartFailed": "wigwag.errors",
    "ServerUnreachable": "wigwag.errors",
    "SessionLost": "wigwag.errors",
    "StaticTokens": "wigwag.server.authorization.static_tokens",
    "StdioServerParameters": "wigwag.transports.stdio_client",
    "SyncClient": "wigwag.client.sync",
    "TerminalLogin": "wigwag.client.authorization.terminal_login",
    "Timeouts": "wigwag.client.link",
    "TokenVerifier": "wigwag.server.authorization.contract",
    "ToolCallResult": "wigwag.client.tool_results",
    "ToolError": "wigwag.errors",
    "ToolFailed": "wigwag.errors",
    "ToolResult": "wigwag.server.results.tool_results",
    "ToolsListChanged": "wigwag.client.listening",
    "TransportError": "wigwag.errors",
    "UriTemplate": "wigwag.server.uris.templates",
    "UserMessage": "wigwag.server.results.prompt_messages",
    "VerifiedToken": "wigwag.server.authorization.contract",
    "VerifierUnavailable": "wigwag.errors",
    "WorkloadIdentity": "wigwag.client.authorization.oauth",
    "authorization_status": "wigwag.client.authorization.accounts",
    "check_client_document": "wigwag.client.authorization.client_document",
    "connect_sync": "wigwag.client.sync",
    "create_client_document": "wigwag.client.authorization.client_document",
    "diagnose": "wigwag.doctor.diagnosing",
    "diagnose_configuration": "wigwag.doctor.configurations",
    "elicit": "wigwag.server.asking.questions",
    "elicit_url": "wigwag.server.asking.questions",
    "list_roots": "wigwag.server.asking.questions",
    "load_configuration": "wigwag.client.configuration",
    "load_server": "wigwag.server.loading",
    "log_in": "wigwag.client.authorization.accounts",
    "log_out": "wigwag.client.authorization.accounts",
    "read_recording": "wigwag.tracing.records",
    "recording_page": "wigwag.tracing.html_page",
    "relay_stdio": "wigwag.tracing.stdio_relay",
    "replay_against": "wigwag.tracing.comparing",
    "run_server": "wigwag.server.running",
    "safe_join": "wigwag.server.files",
    "sample": "wigwag.server.asking.questions",
    "save_content": "wigwag.client.saved_content",
    "terminal_elicitation": "wigwag.client.terminal",
    "terminal_sampling": "wigwag.client.terminal_sampling",
    "tool_arguments": "wigwag.client.tool_arguments",
}

__all__ = [
    "AcceptedElicitation",
    "Account",
    "ApiKey",
    "AssistantMessage",
    "Audio",
    "AuthorizationFailed",
    "BearerToken",
    "BrowserLogin",
    "CacheHint",
    "CachePolicy",
    "CancelledElicitation",
    "Client",
    "ClientContext",
    "ClientCredentials",
    "ClientEvent",
    "ClientGroup",
    "Comparison",
    "ConnectionClosed",
    "Context",
    "DPoPRules",
    "DeclinedElicitation",
    "Depends",
    "Diagnosis",
    "Elicit",
    "ElicitationOutcome",
    "ElicitationResult",
    "EnterpriseManaged",
    "EnvironmentAssertion",
    "File",
    "FileAssertion",
    "FileTokenStore",
    "Finding",
    "FollowedCall",
    "Header",
    "Healing",
    "HttpRelay",
    "HttpStatusError",
    "Image",
    "InputRequired",
    "IntrospectionVerifier",
    "InvalidToken",
    "JwtVerifier",
    "KeyringTokenStore",
    "Limits",
    "ListRoots",
    "McpError",
    "MemoryTokenStore",
    "Message",
    "MessageRecord",
    "OAuth",
    "Patience",
    "Principal",
    "PromptsListChanged",
    "Protection",
    "QuestionFailed",
    "ReplayServer",
    "RequestFailed",
    "RequestTimedOut",
    "Resolve",
    "ResourceNotFound",
    "ResourceSecurity",
    "ResourceUpdated",
    "ResourcesListChanged",
    "Sample",
    "Server",
    "ServerNotLoaded",
    "ServerStartFailed",
    "ServerUnreachable",
    "SessionLost",
    "StaticTokens",
    "StdioServerParameters",
    "SyncClient",
    "TerminalLogin",
    "Timeouts",
    "TokenVerifier",
    "ToolCallResult",
    "ToolError",
    "ToolFailed",
    "ToolResult",
    "ToolsListChanged",
    "TransportError",
    "UriTemplate",
    "UserMessage",
    "VerifiedToken",
    "VerifierUnavailable",
    "WorkloadIdentity",
    "__version__",
    "authorization_status",
    "check_client_document",
    "connect_sync",
    "create_client_document",
    "diagnose",
    "diagnose_configuration",
    "elicit",
    "elicit_url",
    "list_roots",
    "load_configuration",
    "load_server",
    "log_in",
    "log_out",
    "read_recording",
    "recording_page",
    "relay_stdio",
    "replay_against",
    "run_server",
    "safe_join",
    "sample",
    "save_content",
    "terminal_elicitation",
    "terminal_sampling",
    "tool_arguments",
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
