"""Requests that need several round trips: the server answers with questions, the client retries.

Spec: basic/utilities/mrtr
"""

from typing import TypeAlias

from msgspec import UNSET, Raw, UnsetType

from wigwag.schema.base import Schema
from wigwag.schema.basic import RequestParams, Result

InputResponse: TypeAlias = Raw
InputResponses: TypeAlias = dict[str, Raw]


class InputRequest(Schema, kw_only=True, frozen=True):
    """A question to the client inside a result, shaped like a request without its envelope."""

    method: str
    """`elicitation/create`, `sampling/createMessage` or `roots/list`."""
    params: Raw | UnsetType = UNSET
    """What the method takes, encoded."""


InputRequests: TypeAlias = dict[str, InputRequest]


class InputRequiredResult(Result, kw_only=True, frozen=True):
    """What a server answers when it cannot finish without the client's answers.

    At least one of the two optional members is present.
    """

    result_type: str  # pyright: ignore[reportGeneralTypeIssues]  # required here, a keyword
    """Always `input_required`."""
    input_requests: InputRequests | UnsetType = UNSET
    request_state: str | UnsetType = UNSET
    """Opaque to the client, which returns it unchanged."""


class InputResponseRequestParams(RequestParams, kw_only=True, frozen=True):
    """The params of a request that may be a retry with answers."""

    input_responses: InputResponses | UnsetType = UNSET
    """The answers, under the keys of their questions."""
    request_state: str | UnsetType = UNSET
