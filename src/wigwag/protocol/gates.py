"""Which methods the capabilities of either side open. Spec: basic/lifecycle#capability-negotiation.

A side uses only what the other declared, and answers only what it declared itself.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct

from wigwag import schema
from wigwag.errors import RequestFailed
from wigwag.schema import (
    COMPLETION_COMPLETE,
    ELICITATION_CREATE,
    METHODS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    SUBSCRIPTIONS_LISTEN,
    V2024_11_05,
    ClientCapabilities,
    ClientTasksCapability,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
)

__all__ = [
    "client_declares",
    "has_capability",
    "missing_capability_error",
    "offered_methods",
    "required_client_capability",
    "server_declares",
]


def server_declares(capabilities: ServerCapabilities, method: str, revision: str) -> bool:
    """Tell whether a server that declared these capabilities answers requests of the method."""
    if method == SUBSCRIPTIONS_LISTEN:
        return _has_changes(capabilities)
    if method == COMPLETION_COMPLETE and revision == V2024_11_05:
        return True  # that revision has no capability for it
    return has_capability(capabilities, METHODS[method].server_capability)


def offered_methods(capabilities: ServerCapabilities, revision: str) -> frozenset[str]:
    """Return the request methods that a server with these capabilities of its own serves."""
    return frozenset(
        row.name
        for row in METHODS.values()
        if row.kind == "request"
        and row.may_be_sent_by("client", revision)
        and (
            _has_changes(capabilities)
            if row.name == SUBSCRIPTIONS_LISTEN
            else has_capability(capabilities, row.server_capability)
        )
    )


def has_capability(capabilities: Struct, path: tuple[str, ...]) -> bool:
    """Tell whether capabilities have what a path of attributes leads to."""
    value: Any = capabilities
    for name in path:
        value = getattr(value, name)
        if value is UNSET or value is False:
            return False
    return True


def _has_changes(capabilities: ServerCapabilities) -> bool:
    """Tell whether there is anything to listen for."""
    paths = (
        ("tools", "list_changed"),
        ("prompts", "list_changed"),
        ("resources", "list_changed"),
        ("resources", "subscribe"),
    )
    return any(has_capability(capabilities, path) for path in paths)


def required_client_capability(method: str, params: Struct | None) -> ClientCapabilities:
    """Return what a client must have declared to be asked this."""
    if method == ROOTS_LIST:
        return ClientCapabilities(roots=RootsCapability())
    if method == SAMPLING_CREATE_MESSAGE:
        tools = isinstance(params, schema.CreateMessageRequestParams) and (
            params.tools is not UNSET or params.tool_choice is not UNSET
        )
        return ClientCapabilities(sampling=SamplingCapability(tools={} if tools else UNSET))
    if method == ELICITATION_CREATE:
        url = isinstance(params, schema.ElicitRequestURLParams)
        mode = ElicitationCapability(url={}) if url else ElicitationCapability()
        return ClientCapabilities(elicitation=mode)
    path = METHODS[method].client_capability
    if path[:1] == ("tasks",):
        tasks = ClientTasksCapability(
            list={} if "list" in path else UNSET, cancel={} if "cancel" in path else UNSET
        )
        return ClientCapabilities(tasks=tasks)
    return ClientCapabilities()


def client_declares(declared: ClientCapabilities, needed: ClientCapabilities) -> bool:
    """Tell whether a client declared all of what is needed.

    >>> url = ClientCapabilities(elicitation=ElicitationCapability(url={}))
    >>> client_declares(url, ClientCapabilities(elicitation=ElicitationCapability()))
    False
    >>> client_declares(ClientCapabilities(elicitation=ElicitationCapability()), url)
    False
    """
    elicitation = declared.elicitation
    if needed.elicitation is not UNSET and elicitation is not UNSET:
        # An empty object means "forms", and forms are what an empty need means.
        asks_url = needed.elicitation.url is not UNSET
        only_url = elicitation.url is not UNSET and elicitation.form is UNSET
        if (asks_url and elicitation.url is UNSET) or (not asks_url and only_url):
            return False
    return _covers(declared, needed)


def _covers(declared: Any, needed: Any) -> bool:
    if isinstance(needed, Struct):
        return isinstance(declared, Struct) and all(
            _covers(getattr(declared, name), getattr(needed, name))
            for name in needed.__struct_fields__
            if getattr(needed, name) is not UNSET
        )
    if isinstance(needed, dict):
        return isinstance(declared, dict) and all(
            name in declared and _covers(declared[name], value) for name, value in needed.items()
        )
    return declared is not UNSET and declared is not False


def missing_capability_error(needed: ClientCapabilities) -> RequestFailed:
    """Return what to raise where a client lacks a capability. Spec: basic#error-codes."""
    names = [name for name in needed.__struct_fields__ if getattr(needed, name) is not UNSET]
    return RequestFailed(
        MISSING_REQUIRED_CLIENT_CAPABILITY,
        f"Missing required client capability: {', '.join(names)}",
        {"requiredCapabilities": needed},
    )
