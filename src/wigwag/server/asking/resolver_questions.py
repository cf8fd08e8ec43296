"""Questions as classes, by the names that the official SDK has for them.

A dependency returns one to have it put to the client. `Elicit[T]` in what it is annotated to return
says what the answer is. They are what `elicit`, `sample` and `list_roots` make.
"""

from __future__ import annotations

from typing import Any, TypeVar

from wigwag.server.asking.defaults import ANSWER_TIMEOUT
from wigwag.server.asking.questions import (
    FormQuestion,
    Messages,
    ModelQuestion,
    RootsQuestion,
    elicit,
    sample,
)

T = TypeVar("T")


class Elicit(FormQuestion[T]):
    """A question to the user, by a form: what `elicit` makes.

    Args:
        message: What is wanted, and why.
        schema: The fields, as for `Context.elicit`.
        timeout: Seconds that a legacy client has to answer; `None` for ever.

    Raises:
        TypeError: `schema` has a field that no form can have, or `message` is no text.
    """

    def __init__(
        self, message: str, schema: type[T], *, timeout: float | None = ANSWER_TIMEOUT
    ) -> None:
        vars(self).update(vars(elicit(message, schema, timeout=timeout)))


class Sample(ModelQuestion):
    """A question to the client's model: what `sample` makes.

    Args:
        messages: The conversation to continue, as for `Context.sample`.
        max_tokens: How long the answer may become.
        options: What else `Context.sample` takes, but for `key`.
    """

    def __init__(self, messages: Messages, *, max_tokens: int = 1024, **options: Any) -> None:
        question = sample(messages, max_tokens=max_tokens, **options)
        super().__init__(question.params, question.timeout)


class ListRoots(RootsQuestion):
    """The question where the client works: what `list_roots` makes."""

    def __init__(self, *, timeout: float | None = ANSWER_TIMEOUT) -> None:
        super().__init__(None, timeout)
