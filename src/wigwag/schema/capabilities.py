"""What each side declares that it can do.

A member with an empty object says "yes"; a missing member says "no".
Spec: basic/lifecycle#capability-negotiation
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import JSONObject, Schema


class RootsCapability(Schema, kw_only=True, frozen=True):
    """The client lists its roots.

    Spec: client/roots#capabilities
    """

    list_changed: bool | UnsetType = UNSET


class SamplingCapability(Schema, kw_only=True, frozen=True):
    """The client asks its model on the server's behalf.

    Spec: client/sampling#capabilities
    """

    context: JSONObject | UnsetType = UNSET
    """`include_context` may be other than `none`."""
    tools: JSONObject | UnsetType = UNSET
    """The model may be given `tools` and a `tool_choice`."""


class ElicitationCapability(Schema, kw_only=True, frozen=True):
    """The client asks its user; with neither member, by form only.

    Spec: client/elicitation#capabilities
    """

    form: JSONObject | UnsetType = UNSET
    url: JSONObject | UnsetType = UNSET


class SamplingTaskRequests(Schema, kw_only=True, frozen=True):
    """The sampling requests that may become tasks."""

    create_message: JSONObject | UnsetType = UNSET


class ElicitationTaskRequests(Schema, kw_only=True, frozen=True):
    """The elicitation requests that may become tasks."""

    create: JSONObject | UnsetType = UNSET


class ToolsTaskRequests(Schema, kw_only=True, frozen=True):
    """The tool requests that may become tasks."""

    call: JSONObject | UnsetType = UNSET


class ClientTaskRequests(Schema, kw_only=True, frozen=True):
    """The requests to a client that may become tasks."""

    sampling: SamplingTaskRequests | UnsetType = UNSET
    elicitation: ElicitationTaskRequests | UnsetType = UNSET


class ServerTaskRequests(Schema, kw_only=True, frozen=True):
    """The requests to a server that may become tasks."""

    tools: ToolsTaskRequests | UnsetType = UNSET


class ClientTasksCapability(Schema, kw_only=True, frozen=True):
    """The client runs requests as tasks.

    Spec: 2025-11-25 basic/utilities/tasks#capabilities
    """

    list: JSONObject | UnsetType = UNSET
    cancel: JSONObject | UnsetType = UNSET
    requests: ClientTaskRequests | UnsetType = UNSET


class ServerTasksCapability(Schema, kw_only=True, frozen=True):
    """The server runs requests as tasks.

    Spec: 2025-11-25 basic/utilities/tasks#capabilities
    """

    list: JSONObject | UnsetType = UNSET
    cancel: JSONObject | UnsetType = UNSET
    requests: ServerTaskRequests | UnsetType = UNSET


class ClientCapabilities(Schema, kw_only=True, frozen=True):
    """What a client offers to servers.

    Spec: schema#clientcapabilities
    """

    experimental: dict[str, JSONObject] | UnsetType = UNSET
    roots: RootsCapability | UnsetType = UNSET
    sampling: SamplingCapability | UnsetType = UNSET
    elicitation: ElicitationCapability | UnsetType = UNSET
    tasks: ClientTasksCapability | UnsetType = UNSET
    extensions: dict[str, JSONObject] | UnsetType = UNSET
    """Settings by extension identifier, such as `io.modelcontextprotocol/tasks`."""


class PromptsCapability(Schema, kw_only=True, frozen=True):
    """The server has prompts.

    Spec: server/prompts#capabilities
    """

    list_changed: bool | UnsetType = UNSET


class ResourcesCapability(Schema, kw_only=True, frozen=True):
    """The server has resources.

    Spec: server/resources#capabilities
    """

    subscribe: bool | UnsetType = UNSET
    list_changed: bool | UnsetType = UNSET


class ToolsCapability(Schema, kw_only=True, frozen=True):
    """The server has tools.

    Spec: server/tools#capabilities
    """

    list_changed: bool | UnsetType = UNSET


class ServerCapabilities(Schema, kw_only=True, frozen=True):
    """What a server offers to clients.

    Spec: schema#servercapabilities
    """

    experimental: dict[str, JSONObject] | UnsetType = UNSET
    logging: JSONObject | UnsetType = UNSET
    completions: JSONObject | UnsetType = UNSET
    prompts: PromptsCapability | UnsetType = UNSET
    resources: ResourcesCapability | UnsetType = UNSET
    tools: ToolsCapability | UnsetType = UNSET
    tasks: ServerTasksCapability | UnsetType = UNSET
    extensions: dict[str, JSONObject] | UnsetType = UNSET
    """Settings by extension identifier, such as `io.modelcontextprotocol/tasks`."""
