"""How far a request has come.

Spec: basic/utilities/progress
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import ProgressToken
from wigwag.schema.basic import NotificationParams


class ProgressNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """A step forward.

    Spec: basic/utilities/progress#progress-flow
    """

    progress_token: ProgressToken
    """The one that the request came with."""
    progress: float
    """Grows with every notification."""
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET
