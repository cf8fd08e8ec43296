"""Requests that outlive their response, as 2025-11-25 has them in its core.

The extension for 2026-07-28 has types of its own, some with these names and another shape.
Spec: 2025-11-25 basic/utilities/tasks
"""

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from wigwag.schema.base import Cursor, MetaObject, Schema
from wigwag.schema.basic import NotificationParams, RequestParams

TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class Task(Schema, kw_only=True, frozen=True):
    """Where a task stands."""

    task_id: str
    status: TaskStatus
    status_message: str | UnsetType = UNSET
    created_at: str
    last_updated_at: str
    ttl: int | None
    """For how many milliseconds from its creation it is kept; `None` is for ever."""
    poll_interval: int | UnsetType = UNSET
    """How many milliseconds to wait between two looks at it."""


class CreateTaskResult(Schema, kw_only=True, frozen=True):
    """The immediate answer to a request that was made a task."""

    task: Task
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class GetTaskRequestParams(RequestParams, kw_only=True, frozen=True):
    """Which task `tasks/get` asks about."""

    task_id: str


class GetTaskPayloadRequestParams(RequestParams, kw_only=True, frozen=True):
    """Which task's result `tasks/result` waits for."""

    task_id: str


class CancelTaskRequestParams(RequestParams, kw_only=True, frozen=True):
    """Which task `tasks/cancel` ends."""

    task_id: str


class GetTaskResult(Task, kw_only=True, frozen=True):
    """A task, as `tasks/get` returns it."""

    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class CancelTaskResult(Task, kw_only=True, frozen=True):
    """A task, as `tasks/cancel` returns it."""

    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class GetTaskPayloadResult(Schema, kw_only=True, frozen=True):
    """The members that `tasks/result` adds to the result of the request the task stands for."""

    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)
    """Names the task under `RELATED_TASK_KEY`."""


class ListTasksResult(Schema, kw_only=True, frozen=True):
    """One page of tasks."""

    tasks: list[Task]
    next_cursor: Cursor | UnsetType = UNSET
    meta: MetaObject | UnsetType = field(name="_meta", default=UNSET)


class TaskStatusNotificationParams(NotificationParams, kw_only=True, frozen=True):
    """A task whose status has changed."""

    task_id: str
    status: TaskStatus
    status_message: str | UnsetType = UNSET
    created_at: str
    last_updated_at: str
    ttl: int | None
    poll_interval: int | UnsetType = UNSET
