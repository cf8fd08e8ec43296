"""The end of a request before its response.

Spec: basic/utilities/cancellation
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import RequestId
from wigwag.schema.basic import NotificationParams


class CancelledNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """Which request is no longer wanted.

    Spec: basic/utilities/cancellation#cancellation-flow
    """

    request_id: RequestId | UnsetType = UNSET
    """Only 2025-11-25 allows it to be absent, and then nothing is cancelled."""
    reason: str | UnsetType = UNSET
