"""What requests, notifications and results have in common: `_meta` and `resultType`.

Spec: basic#meta
"""

from typing import Final

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import Implementation, LoggingLevel, MetaObject, ProgressToken, Schema
from wigwag.schema.capabilities import ClientCapabilities

PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK_KEY: Final = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE_KEY: Final = "io.modelcontextprotocol/model-immediate-response"

RESULT_COMPLETE: Final = "complete"
RESULT_INPUT_REQUIRED: Final = "input_required"


class RequestMetaObject(Schema, kw_only=True, frozen=True):
    """The `_meta` of a request: in the modern era it stands for the whole handshake.

    Keys that MCP does not define are not held here; they are in the request's bytes.
    Spec: basic#meta
    """

    progress_token: ProgressToken | UnsetType = UNSET
    """Asks for progress notifications, which then carry this token."""
    protocol_version: str | UnsetType = field(name=PROTOCOL_VERSION_KEY, default=UNSET)
    client_capabilities: ClientCapabilities | UnsetType = field(
        name=CLIENT_CAPABILITIES_KEY, default=UNSET
    )
    client_info: Implementation | UnsetType = field(name=CLIENT_INFO_KEY, default=UNSET)
    log_level: LoggingLevel | UnsetType = field(name=LOG_LEVEL_KEY, default=UNSET)
    """Asks for log notifications of this level and above while the request is served."""


class RequestParams(Schema, kw_only=True, frozen=True):
    """The params that every request may have.

    Spec: basic#requests
    """

    meta: RequestMetaObject | UnsetType = field(name="_meta", default=UNSET)


class NotificationParams(Schema, kw_only=True, frozen=True):
    """The params that every notification may have.

    Spec: basic#notifications
    """

    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class Result(Schema, kw_only=True, frozen=True):
    """The members that every result may have, and all that an empty one has.

    Spec: basic#responses
    """

    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)
    result_type: str | UnsetType = UNSET
    """`complete` or `input_required`; an extension may add values. Absent means `complete`."""


EmptyResult = Result
