"""The revisions of MCP, and what each of them lacks of the types in this package.

The types describe the newest revision together with what only older ones have. Which members and
which types a revision knows is data, here; `project` acts on it.
Spec: basic/versioning
"""

from typing import Final

from msgspec import Struct

V2024_11_05: Final = "2024-11-05"
V2025_03_26: Final = "2025-03-26"
V2025_06_18: Final = "2025-06-18"
V2025_11_25: Final = "2025-11-25"
V2026_07_28: Final = "2026-07-28"

LEGACY_REVISIONS: Final = (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25)
"""Those that begin with a handshake, the oldest first."""
MODERN_REVISIONS: Final = (V2026_07_28,)
"""Those in which every request speaks for itself, the oldest first."""
REVISIONS: Final = LEGACY_REVISIONS + MODERN_REVISIONS
LATEST_LEGACY: Final = V2025_11_25
LATEST_MODERN: Final = V2026_07_28

# Revisions are compared by their place in the list, never as text.
_AGE: Final = {revision: age for age, revision in enumerate(REVISIONS)}


class Span(Struct, frozen=True):
    """The revisions from `first` to `last`, both included."""

    first: str = V2024_11_05
    last: str = V2026_07_28

    def covers(self, revision: str) -> bool:
        """Tell whether the revision is one of them.

        Raises:
            KeyError: There is no such revision.
        """
        return _AGE[self.first] <= _AGE[revision] <= _AGE[self.last]


ALWAYS: Final = Span()
_SINCE_0326: Final = Span(first=V2025_03_26)
_SINCE_0618: Final = Span(first=V2025_06_18)
_SINCE_1125: Final = Span(first=V2025_11_25)
_MODERN: Final = Span(first=V2026_07_28)
_LEGACY: Final = Span(last=V2025_11_25)
_ONLY_1125: Final = Span(V2025_11_25, V2025_11_25)

TYPES: Final[dict[str, Span]] = {
    "base.BaseMetadata": _SINCE_0618,
    "base.Icon": _SINCE_1125,
    "base.Icons": _SINCE_1125,
    "caching.CacheableResult": _MODERN,
    "capabilities.ClientTaskRequests": _ONLY_1125,
    "capabilities.ClientTasksCapability": _ONLY_1125,
    "capabilities.ElicitationCapability": _SINCE_0618,
    "capabilities.ElicitationTaskRequests": _ONLY_1125,
    "capabilities.SamplingTaskRequests": _ONLY_1125,
    "capabilities.ServerTaskRequests": _ONLY_1125,
    "capabilities.ServerTasksCapability": _ONLY_1125,
    "capabilities.ToolsTaskRequests": _ONLY_1125,
    "completion.CompletionContext": _SINCE_0618,
    "content.AudioContent": _SINCE_0326,
    "content.ResourceLink": _SINCE_0618,
    "content.ToolResultContent": _SINCE_1125,
    "content.ToolUseContent": _SINCE_1125,
    "discover.DiscoverResult": _MODERN,
    "elicitation.BooleanSchema": _SINCE_0618,
    "elicitation.ElicitRequestFormParams": _SINCE_0618,
    "elicitation.ElicitRequestURLParams": _SINCE_1125,
    "elicitation.ElicitResult": _SINCE_0618,
    "elicitation.ElicitationCompleteNotificationParams": _ONLY_1125,
    "elicitation.EnumOption": _SINCE_1125,
    "elicitation.LegacyTitledEnumSchema": _SINCE_0618,
    "elicitation.NumberSchema": _SINCE_0618,
    "elicitation.StringSchema": _SINCE_0618,
    "elicitation.TitledEnumItems": _SINCE_1125,
    "elicitation.TitledMultiSelectEnumSchema": _SINCE_1125,
    "elicitation.TitledSingleSelectEnumSchema": _SINCE_1125,
    "elicitation.UntitledEnumItems": _SINCE_1125,
    "elicitation.UntitledMultiSelectEnumSchema": _SINCE_1125,
    "elicitation.UntitledSingleSelectEnumSchema": _SINCE_1125,
    "error_data.MissingRequiredClientCapabilityData": _MODERN,
    "error_data.URLElicitationRequiredData": _ONLY_1125,
    "error_data.UnsupportedProtocolVersionData": _MODERN,
    "input_required.InputRequest": _MODERN,
    "input_required.InputRequiredResult": _MODERN,
    "input_required.InputResponseRequestParams": _MODERN,
    "lifecycle.InitializeRequestParams": _LEGACY,
    "lifecycle.InitializeResult": _LEGACY,
    "log.SetLevelRequestParams": _LEGACY,
    "resources.SubscribeRequestParams": _LEGACY,
    "resources.UnsubscribeRequestParams": _LEGACY,
    "sampling.ToolChoice": _SINCE_1125,
    "subscriptions.SubscriptionFilter": _MODERN,
    "subscriptions.SubscriptionsAcknowledgedNotificationParams": _MODERN,
    "subscriptions.SubscriptionsListenRequestParams": _MODERN,
    "subscriptions.SubscriptionsListenResult": _MODERN,
    "tasks.CancelTaskRequestParams": _ONLY_1125,
    "tasks.CancelTaskResult": _ONLY_1125,
    "tasks.CreateTaskResult": _ONLY_1125,
    "tasks.GetTaskPayloadRequestParams": _ONLY_1125,
    "tasks.GetTaskPayloadResult": _ONLY_1125,
    "tasks.GetTaskRequestParams": _ONLY_1125,
    "tasks.GetTaskResult": _ONLY_1125,
    "tasks.ListTasksResult": _ONLY_1125,
    "task_metadata.RelatedTaskMetadata": _ONLY_1125,
    "tasks.Task": _ONLY_1125,
    "task_metadata.TaskAugmentedRequestParams": _ONLY_1125,
    "task_metadata.TaskMetadata": _ONLY_1125,
    "tasks.TaskStatusNotificationParams": _ONLY_1125,
    "tools.ToolAnnotations": _SINCE_0326,
    "tools.ToolExecution": _ONLY_1125,
}
"""The types that some revision lacks, by their modules and names."""

_CACHE_HINTS: Final = {"ttl_ms": _MODERN, "cache_scope": _MODERN}

MEMBERS: Final[dict[str, dict[str, Span]]] = {
    "base.Annotations": {"last_modified": _SINCE_0618},
    "base.Implementation": {
        "title": _SINCE_0618,
        "description": _SINCE_1125,
        "website_url": _SINCE_1125,
        "icons": _SINCE_1125,
    },
    "basic.RequestMetaObject": {
        "protocol_version": _MODERN,
        "client_capabilities": _MODERN,
        "client_info": _MODERN,
        "log_level": _MODERN,
    },
    "basic.Result": {"result_type": _MODERN},
    "caching.CacheableResult": _CACHE_HINTS,
    "capabilities.ClientCapabilities": {
        "elicitation": _SINCE_0618,
        "tasks": _ONLY_1125,
        # The schema has it in 2026-07-28 only; extensions have agreed to use it in `initialize`.
        "extensions": _SINCE_1125,
    },
    "capabilities.ElicitationCapability": {"form": _SINCE_1125, "url": _SINCE_1125},
    "capabilities.RootsCapability": {"list_changed": _LEGACY},
    "capabilities.SamplingCapability": {"context": _SINCE_1125, "tools": _SINCE_1125},
    "capabilities.ServerCapabilities": {
        "completions": _SINCE_0326,
        "tasks": _ONLY_1125,
        "extensions": _SINCE_1125,
    },
    "completion.CompleteRequestParams": {"context": _SINCE_0618},
    "completion.PromptReference": {"title": _SINCE_0618},
    "content.AudioContent": {"meta": _SINCE_0618},
    "content.EmbeddedResource": {"meta": _SINCE_0618},
    "content.ImageContent": {"meta": _SINCE_0618},
    "content.ResourceLink": {"icons": _SINCE_1125},
    "content.TextContent": {"meta": _SINCE_0618},
    "elicitation.ElicitRequestFormParams": {
        "mode": _SINCE_1125,
        "task": _ONLY_1125,
        "meta": _LEGACY,
    },
    "elicitation.ElicitRequestURLParams": {
        "elicitation_id": _ONLY_1125,
        "task": _ONLY_1125,
        "meta": _LEGACY,
    },
    "elicitation.ElicitResult": {"meta": _LEGACY},
    "elicitation.LegacyTitledEnumSchema": {"default": _SINCE_1125},
    "elicitation.NumberSchema": {"default": _SINCE_1125},
    "elicitation.StringSchema": {"default": _SINCE_1125},
    "input_required.InputResponseRequestParams": {
        "input_responses": _MODERN,
        "request_state": _MODERN,
    },
    "progress.ProgressNotificationParams": {"message": _SINCE_0326},
    "prompts.ListPromptsResult": _CACHE_HINTS,
    "prompts.Prompt": {"title": _SINCE_0618, "icons": _SINCE_1125, "meta": _SINCE_0618},
    "prompts.PromptArgument": {"title": _SINCE_0618},
    "resources.ListResourceTemplatesResult": _CACHE_HINTS,
    "resources.ListResourcesResult": _CACHE_HINTS,
    "resources.Resource": {"title": _SINCE_0618, "icons": _SINCE_1125, "meta": _SINCE_0618},
    "resource_contents.ResourceContents": {"meta": _SINCE_0618},
    "resources.ResourceTemplate": {"title": _SINCE_0618, "icons": _SINCE_1125, "meta": _SINCE_0618},
    "roots.ListRootsResult": {"meta": _LEGACY},
    "roots.Root": {"meta": _SINCE_0618},
    "sampling.CreateMessageRequestParams": {
        "tools": _SINCE_1125,
        "tool_choice": _SINCE_1125,
        "task": _ONLY_1125,
        "meta": _LEGACY,
    },
    "sampling.SamplingMessage": {"meta": _SINCE_1125},
    "tools.CallToolRequestParams": {"task": _ONLY_1125},
    "tools.CallToolResult": {"structured_content": _SINCE_0618},
    "tools.ListToolsResult": _CACHE_HINTS,
    "tools.Tool": {
        "title": _SINCE_0618,
        "output_schema": _SINCE_0618,
        "annotations": _SINCE_0326,
        "icons": _SINCE_1125,
        "execution": _ONLY_1125,
        "meta": _SINCE_0618,
    },
}
"""The members that some revision with their type lacks; a subclass's members include its base's."""


def name_of(type_: type) -> str:
    """Return the name by which `TYPES` and `MEMBERS` have a type; they have none of others."""
    package, _, module = type_.__module__.rpartition(".")
    return f"{module}.{type_.__name__}" if package == __package__ else ""


def has_type(type_: type, revision: str) -> bool:
    """Tell whether a revision knows a type."""
    return TYPES.get(name_of(type_), ALWAYS).covers(revision)


def has_member(type_: type, member: str, revision: str) -> bool:
    """Tell whether a type has a member in a revision.

    >>> from wigwag.schema import ServerCapabilities
    >>> has_member(ServerCapabilities, "completions", V2024_11_05)
    False

    Args:
        type_: A type of this package.
        member: The name of its attribute.
        revision: One of `REVISIONS`.
    """
    for base_ in type_.__mro__:
        span = MEMBERS.get(name_of(base_), {}).get(member)
        if span is not None:
            return span.covers(revision)
    return True
