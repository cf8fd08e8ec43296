"""What ties other messages to tasks, as 2025-11-25 has them.

Spec: 2025-11-25 basic/utilities/tasks
"""

from msgspec import UNSET, UnsetType

from wigwag.schema.base import Schema
from wigwag.schema.basic import RequestParams


class TaskMetadata(Schema, kw_only=True, frozen=True):
    """The wish that a request be run as a task."""

    ttl: int | UnsetType = UNSET
    """For how many milliseconds the task should be kept."""


class RelatedTaskMetadata(Schema, kw_only=True, frozen=True):
    """The value under `RELATED_TASK_KEY` that ties a message to a task."""

    task_id: str


class TaskAugmentedRequestParams(RequestParams, kw_only=True, frozen=True):
    """The params of a request that may be run as a task."""

    task: TaskMetadata | UnsetType = UNSET
