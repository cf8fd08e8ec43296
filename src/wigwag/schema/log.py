"""Log messages that a server sends to its client.

Spec: server/utilities/logging
"""

from typing import Any

from msgspec import UNSET, UnsetType

from wigwag.schema.base import LoggingLevel
from wigwag.schema.basic import NotificationParams, RequestParams


class SetLevelRequestParams(RequestParams, kw_only=True, frozen=True):
    """The least severe level that is still wanted.

    Spec: 2025-11-25 server/utilities/logging#setting-log-level
    """

    level: LoggingLevel


class LoggingMessageNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """One log message.

    Spec: server/utilities/logging#log-message-notifications
    """

    level: LoggingLevel
    data: Any
    """Any JSON value."""
    logger: str | UnsetType = UNSET
    """The name of the logger."""
