"""How a handler stops because it needs the client: it returns that, or is unwound.

Spec: basic/utilities/mrtr
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from wigwag.schema import InputRequiredResult

if TYPE_CHECKING:
    from wigwag.schema import InputRequest
    from wigwag.server.asking.questions import Question


class InputRequired:
    """Returned by a handler that cannot finish before the client has answered something.

    The handler is called again with `Context.input_responses` and `Context.input_state`. Most are
    easier to write with `Context.elicit` and its like, which do all of this.

    Args:
        questions: What to ask, by keys that are the handler's own: what `elicit`, `elicit_url`,
            `sample` and `list_roots` return, or requests as the protocol has them.
        state: What the handler wants to have back: any value that JSON has a form for. The client
            carries it, sealed.

    Raises:
        ValueError: There is neither a question nor a state.
    """

    def __init__(
        self,
        questions: Mapping[str, Question[Any] | InputRequest] | None = None,
        *,
        state: Any = None,
    ) -> None:
        self.questions = dict(questions or {})
        self.state = state
        if not self.questions and state is None:
            raise ValueError("InputRequired needs questions, a state, or both")


def asked_by(value: Any) -> InputRequired | None:
    """Return what a handler asks by what it has returned, if it asks anything.

    It may have returned it as the protocol has it. Then too its state is sealed, and legacy clients
    are asked.
    """
    if not isinstance(value, InputRequiredResult):
        return value if isinstance(value, InputRequired) else None
    state = None if value.request_state is UNSET else value.request_state
    return InputRequired(value.input_requests or None, state=state)


class Unwinding(BaseException):
    """Leads out of a handler whose question the client has yet to answer.

    It is no `Exception`, so that handlers do not catch it by accident: let it pass. The handler is
    run again once there is an answer.
    """
