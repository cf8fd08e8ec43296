"""The one table of methods: who may send each, what it carries, what it needs, when it existed.

Spec: schema
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from wigwag import schema
from wigwag.schema.revisions import (
    LATEST_LEGACY,
    LATEST_MODERN,
    MODERN_REVISIONS,
    V2024_11_05,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    Span,
)

INITIALIZE: Final = "initialize"
PING: Final = "ping"
SERVER_DISCOVER: Final = "server/discover"
TOOLS_LIST: Final = "tools/list"
TOOLS_CALL: Final = "tools/call"
RESOURCES_LIST: Final = "resources/list"
RESOURCES_TEMPLATES_LIST: Final = "resources/templates/list"
RESOURCES_READ: Final = "resources/read"
RESOURCES_SUBSCRIBE: Final = "resources/subscribe"
RESOURCES_UNSUBSCRIBE: Final = "resources/unsubscribe"
PROMPTS_LIST: Final = "prompts/list"
PROMPTS_GET: Final = "prompts/get"
COMPLETION_COMPLETE: Final = "completion/complete"
LOGGING_SET_LEVEL: Final = "logging/setLevel"
SUBSCRIPTIONS_LISTEN: Final = "subscriptions/listen"
SAMPLING_CREATE_MESSAGE: Final = "sampling/createMessage"
ROOTS_LIST: Final = "roots/list"
ELICITATION_CREATE: Final = "elicitation/create"
TASKS_GET: Final = "tasks/get"
TASKS_RESULT: Final = "tasks/result"
TASKS_LIST: Final = "tasks/list"
TASKS_CANCEL: Final = "tasks/cancel"

NOTIFICATIONS_INITIALIZED: Final = "notifications/initialized"
NOTIFICATIONS_CANCELLED: Final = "notifications/cancelled"
NOTIFICATIONS_PROGRESS: Final = "notifications/progress"
NOTIFICATIONS_MESSAGE: Final = "notifications/message"
NOTIFICATIONS_TOOLS_LIST_CHANGED: Final = "notifications/tools/list_changed"
NOTIFICATIONS_PROMPTS_LIST_CHANGED: Final = "notifications/prompts/list_changed"
NOTIFICATIONS_RESOURCES_LIST_CHANGED: Final = "notifications/resources/list_changed"
NOTIFICATIONS_RESOURCES_UPDATED: Final = "notifications/resources/updated"
NOTIFICATIONS_ROOTS_LIST_CHANGED: Final = "notifications/roots/list_changed"
NOTIFICATIONS_ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"
NOTIFICATIONS_TASKS_STATUS: Final = "notifications/tasks/status"
NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

Sender: TypeAlias = Literal["client", "server", "both"]


class Method(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    name: str
    kind: Literal["request", "notification"]
    sender: Sender
    modern_sender: Sender | None = None
    """Who sends it in the modern revisions, where that differs from `sender`."""
    params_name: str
    """The name of the type of its params, in this package: those of few methods are ever needed."""
    result_name: str | None = None
    """The name of the type of the result that completes it; a notification has none."""
    server_capability: tuple[str, ...] = ()
    """The attributes that lead, in `ServerCapabilities`, to what the server must have declared."""
    client_capability: tuple[str, ...] = ()
    """The attributes that lead, in `ClientCapabilities`, to what the client must have declared."""
    first: str = V2024_11_05
    last: str = LATEST_MODERN
    input_required: bool = False
    """In the modern revisions the server may answer it with `InputRequiredResult`."""
    input_request: bool = False
    """In the modern revisions it lives on as a question inside an `InputRequiredResult`."""
    cacheable: bool = False
    """In the modern revisions its result says how long it may be kept."""
    task_augmentable: bool = False
    """In 2025-11-25 it may be run as a task."""

    @property
    def params(self) -> Any:
        """The type of its params, or a union of two."""
        return getattr(schema, self.params_name)

    @property
    def result(self) -> Any:
        """The type of the result that completes it; `None` for a notification."""
        return None if self.result_name is None else getattr(schema, self.result_name)

    def exists_in(self, revision: str) -> bool:
        """Tell whether messages with this method exist in a revision."""
        return Span(self.first, self.last).covers(revision)

    def may_be_sent_by(self, side: Literal["client", "server"], revision: str) -> bool:
        """Tell whether a side may send messages with this method in a revision."""
        sender = self.sender
        if self.modern_sender is not None and revision in MODERN_REVISIONS:
            sender = self.modern_sender
        return sender in (side, "both") and self.exists_in(revision)


_TABLE: Final = (
    Method(
        name=INITIALIZE,
        kind="request",
        sender="client",
        params_name="InitializeRequestParams",
        result_name="InitializeResult",
        last=LATEST_LEGACY,
    ),
    Method(
        name=PING,
        kind="request",
        sender="both",
        params_name="RequestParams",
        result_name="Result",
        last=LATEST_LEGACY,
    ),
    Method(
        name=SERVER_DISCOVER,
        kind="request",
        sender="client",
        params_name="RequestParams",
        result_name="DiscoverResult",
        first=V2026_07_28,
        cacheable=True,
    ),
    Method(
        name=TOOLS_LIST,
        kind="request",
        sender="client",
        params_name="PaginatedRequestParams",
        result_name="ListToolsResult",
        server_capability=("tools",),
        cacheable=True,
    ),
    Method(
        name=TOOLS_CALL,
        kind="request",
        sender="client",
        params_name="CallToolRequestParams",
        result_name="CallToolResult",
        server_capability=("tools",),
        input_required=True,
        task_augmentable=True,
    ),
    Method(
        name=RESOURCES_LIST,
        kind="request",
        sender="client",
        params_name="PaginatedRequestParams",
        result_name="ListResourcesResult",
        server_capability=("resources",),
        cacheable=True,
    ),
    Method(
        name=RESOURCES_TEMPLATES_LIST,
        kind="request",
        sender="client",
        params_name="PaginatedRequestParams",
        result_name="ListResourceTemplatesResult",
        server_capability=("resources",),
        cacheable=True,
    ),
    Method(
        name=RESOURCES_READ,
        kind="request",
        sender="client",
        params_name="ReadResourceRequestParams",
        result_name="ReadResourceResult",
        server_capability=("resources",),
        input_required=True,
        cacheable=True,
    ),
    Method(
        name=RESOURCES_SUBSCRIBE,
        kind="request",
        sender="client",
        params_name="SubscribeRequestParams",
        result_name="Result",
        server_capability=("resources", "subscribe"),
        last=LATEST_LEGACY,
    ),
    Method(
        name=RESOURCES_UNSUBSCRIBE,
        kind="request",
        sender="client",
        params_name="UnsubscribeRequestParams",
        result_name="Result",
        server_capability=("resources", "subscribe"),
        last=LATEST_LEGACY,
    ),
    Method(
        name=PROMPTS_LIST,
        kind="request",
        sender="client",
        params_name="PaginatedRequestParams",
        result_name="ListPromptsResult",
        server_capability=("prompts",),
        cacheable=True,
    ),
    Method(
        name=PROMPTS_GET,
        kind="request",
        sender="client",
        params_name="GetPromptRequestParams",
        result_name="GetPromptResult",
        server_capability=("prompts",),
        input_required=True,
    ),
    # 2024-11-05 has the method and no capability for it: `has_member` tells.
    Method(
        name=COMPLETION_COMPLETE,
        kind="request",
        sender="client",
        params_name="CompleteRequestParams",
        result_name="CompleteResult",
        server_capability=("completions",),
    ),
    Method(
        name=LOGGING_SET_LEVEL,
        kind="request",
        sender="client",
        params_name="SetLevelRequestParams",
        result_name="Result",
        server_capability=("logging",),
        last=LATEST_LEGACY,
    ),
    # Needs any one of the capabilities that it reports changes of.
    Method(
        name=SUBSCRIPTIONS_LISTEN,
        kind="request",
        sender="client",
        params_name="SubscriptionsListenRequestParams",
        result_name="SubscriptionsListenResult",
        first=V2026_07_28,
    ),
    Method(
        name=SAMPLING_CREATE_MESSAGE,
        kind="request",
        sender="server",
        params_name="CreateMessageRequestParams",
        result_name="CreateMessageResult",
        client_capability=("sampling",),
        last=LATEST_LEGACY,
        input_request=True,
        task_augmentable=True,
    ),
    Method(
        name=ROOTS_LIST,
        kind="request",
        sender="server",
        params_name="RequestParams",
        result_name="ListRootsResult",
        client_capability=("roots",),
        last=LATEST_LEGACY,
        input_request=True,
    ),
    Method(
        name=ELICITATION_CREATE,
        kind="request",
        sender="server",
        params_name="ElicitRequestParams",
        result_name="ElicitResult",
        client_capability=("elicitation",),
        first=V2025_06_18,
        last=LATEST_LEGACY,
        input_request=True,
        task_augmentable=True,
    ),
    # Of the tasks capabilities, that of the side which receives the request counts.
    Method(
        name=TASKS_GET,
        kind="request",
        sender="both",
        params_name="GetTaskRequestParams",
        result_name="GetTaskResult",
        server_capability=("tasks",),
        client_capability=("tasks",),
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=TASKS_RESULT,
        kind="request",
        sender="both",
        params_name="GetTaskPayloadRequestParams",
        result_name="GetTaskPayloadResult",
        server_capability=("tasks",),
        client_capability=("tasks",),
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=TASKS_LIST,
        kind="request",
        sender="both",
        params_name="PaginatedRequestParams",
        result_name="ListTasksResult",
        server_capability=("tasks", "list"),
        client_capability=("tasks", "list"),
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=TASKS_CANCEL,
        kind="request",
        sender="both",
        params_name="CancelTaskRequestParams",
        result_name="CancelTaskResult",
        server_capability=("tasks", "cancel"),
        client_capability=("tasks", "cancel"),
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=NOTIFICATIONS_INITIALIZED,
        kind="notification",
        sender="client",
        params_name="NotificationParams",
        last=LATEST_LEGACY,
    ),
    Method(
        name=NOTIFICATIONS_CANCELLED,
        kind="notification",
        sender="both",
        params_name="CancelledNotificationParams",
    ),
    Method(
        name=NOTIFICATIONS_PROGRESS,
        kind="notification",
        sender="both",
        modern_sender="server",
        params_name="ProgressNotificationParams",
    ),
    Method(
        name=NOTIFICATIONS_MESSAGE,
        kind="notification",
        sender="server",
        params_name="LoggingMessageNotificationParams",
        server_capability=("logging",),
    ),
    Method(
        name=NOTIFICATIONS_TOOLS_LIST_CHANGED,
        kind="notification",
        sender="server",
        params_name="NotificationParams",
        server_capability=("tools", "list_changed"),
    ),
    Method(
        name=NOTIFICATIONS_PROMPTS_LIST_CHANGED,
        kind="notification",
        sender="server",
        params_name="NotificationParams",
        server_capability=("prompts", "list_changed"),
    ),
    Method(
        name=NOTIFICATIONS_RESOURCES_LIST_CHANGED,
        kind="notification",
        sender="server",
        params_name="NotificationParams",
        server_capability=("resources", "list_changed"),
    ),
    Method(
        name=NOTIFICATIONS_RESOURCES_UPDATED,
        kind="notification",
        sender="server",
        params_name="ResourceUpdatedNotificationParams",
        server_capability=("resources", "subscribe"),
    ),
    Method(
        name=NOTIFICATIONS_ROOTS_LIST_CHANGED,
        kind="notification",
        sender="client",
        params_name="NotificationParams",
        client_capability=("roots", "list_changed"),
        last=LATEST_LEGACY,
    ),
    Method(
        name=NOTIFICATIONS_ELICITATION_COMPLETE,
        kind="notification",
        sender="server",
        params_name="ElicitationCompleteNotificationParams",
        client_capability=("elicitation", "url"),
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=NOTIFICATIONS_TASKS_STATUS,
        kind="notification",
        sender="both",
        params_name="TaskStatusNotificationParams",
        first=V2025_11_25,
        last=V2025_11_25,
    ),
    Method(
        name=NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
        kind="notification",
        sender="server",
        params_name="SubscriptionsAcknowledgedNotificationParams",
        first=V2026_07_28,
    ),
)

METHODS: Final[Mapping[str, Method]] = MappingProxyType({method.name: method for method in _TABLE})
"""Every method of every revision, by name; those of extensions are not here."""
