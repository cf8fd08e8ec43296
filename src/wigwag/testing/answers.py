"""Scripted answers to what a server asks its client, and the record of what it asked.

Spec: client
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Struct

from wigwag.schema import (
    ELICITATION_CREATE,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    ContentBlock,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    TextContent,
)

__all__ = ["Asked", "ScriptError"]

Script: TypeAlias = Any
"""One answer for every question, or a list of answers, each for one question, in this order.

An answer may be a function, given what is asked, plain or `async`.
"""

# What a scripted model calls itself.
MODEL: Final = "scripted"
ACTIONS: Final = ("accept", "decline", "cancel")


class ScriptError(AssertionError):
    """A server asked what the test has no answer to, or did not ask what it has answers to."""


class Asked(Struct, frozen=True):
    """A question that the server asked, and what it was told.

    Attributes:
        method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
        params: What is asked: `ElicitRequestFormParams`, `ElicitRequestURLParams` or
            `CreateMessageRequestParams`; nothing for roots.
        answer: What the script answered; what a form had filled in was added to it.
    """

    method: str
    params: Any
    answer: Any

    @property
    def message(self) -> str:
        """The question in words: that of a form or page, or the last message for a model."""
        return _message_of(self.params)


class Answers:
    """Answers the questions of a server as a test has written them down.

    Args:
        elicit: Answers for forms and pages: a dict is the form that the user accepted; `accept`,
            `decline` and `cancel` are what the user did; an `ElicitResult` goes back as it is; an
            exception is raised.
        sample: Answers of the model: text, a content block, or a `CreateMessageResult`.
    """

    def __init__(self, *, elicit: Script = None, sample: Script = None) -> None:
        self.asked: list[Asked] = []
        self.failure: ScriptError | None = None
        """The first question that could not be answered, if there is one."""
        self._elicit = _Script("elicit", elicit)
        self._sample = _Script("sample", sample)

    async def answer_elicitation(
        self, params: ElicitRequestFormParams | ElicitRequestURLParams
    ) -> ElicitResult:
        """Answer for the user."""
        answer = await self._next(self._elicit, params)
        result: ElicitResult = self._checked(lambda: _elicit_result(params, answer))
        self.asked.append(Asked(ELICITATION_CREATE, params, result))
        return result

    async def answer_sampling(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answer for the model."""
        answer = await self._next(self._sample, params)
        result: CreateMessageResult = self._checked(lambda: _sampled(answer))
        self.asked.append(Asked(SAMPLING_CREATE_MESSAGE, params, result))
        return result

    def note_roots(self, roots: Any) -> Any:
        """Note that the roots were asked for."""
        self.asked.append(Asked(ROOTS_LIST, None, roots))
        return roots

    def check_used(self) -> None:
        """See that every answer of a list was given.

        Raises:
            ScriptError: The server did not ask so often.
        """
        for script in (self._elicit, self._sample):
            if script.left:
                shown = ", ".join(map(_shown, script.left))
                script.left.clear()  # it is told once
                raise ScriptError(
                    f"the server did not ask for all answers of `{script.name}`; left are: {shown}"
                )

    async def _next(self, script: _Script, params: Any) -> Any:
        answer = self._checked(lambda: script.next(params))
        if callable(answer):
            answer = answer(params)
            if inspect.isawaitable(answer):
                answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _checked(self, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except ScriptError as error:
            self.failure = self.failure or error
            raise


class _Script:
    """The answers to one kind of question."""

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._is_list = isinstance(script, Sequence) and not isinstance(script, str | bytes)
        self._always = script
        self._given = 0
        self.left: list[Any] = list(script) if self._is_list else []
        """The answers of a list that nobody has asked for yet."""

    def next(self, params: Any) -> Any:
        if not self._is_list:
            return self._always
        if not self.left:
            had = f"all {self._given} answers were given" if self._given else "there are none"
            raise ScriptError(
                f"the server asked {_described(params)}, and `{self.name}` has no answer: {had}"
            )
        self._given += 1
        return self.left.pop(0)


# --- the kinds of answers


def _elicit_result(params: Any, answer: Any) -> ElicitResult:
    if isinstance(answer, ElicitResult):
        return answer
    if answer in ACTIONS:
        # What a form had filled in is added where all answers are.
        is_filled = answer == "accept" and _is_form(params)
        result = ElicitResult(action=answer, content={} if is_filled else UNSET)
    elif isinstance(answer, Mapping):
        if not _is_form(params):
            raise ScriptError(
                f"the server asked {_described(params)}, and a page cannot be answered with "
                f"{_shown(answer)}: write 'accept', 'decline' or 'cancel'"
            )
        result = ElicitResult(action="accept", content=dict(answer))
    else:
        raise ScriptError(
            f"{_shown(answer)} is no answer to an elicitation: write a dict, 'accept', 'decline', "
            "'cancel' or an ElicitResult"
        )
    if result.action == "accept" and _is_form(params):
        _check_fields(params, result.content or {})
    return result


def _is_form(params: Any) -> bool:
    return isinstance(params, ElicitRequestFormParams)


def _check_fields(params: ElicitRequestFormParams, content: Mapping[str, Any]) -> None:
    fields = params.requested_schema.get("properties", {})
    for name in content:
        if name not in fields:
            has = ", ".join(fields) or "none"
            raise ScriptError(
                f"the answer has the field {name!r}, and the form that asks {_described(params)} "
                f"has not; it has: {has}"
            )
    for name in params.requested_schema.get("required", []):
        if name not in content and "default" not in fields.get(name, {}):
            raise ScriptError(
                f"the form that asks {_described(params)} needs {name!r}, and the answer has no "
                f"such field: {_shown(content)}"
            )


def _sampled(answer: Any) -> CreateMessageResult:
    if isinstance(answer, CreateMessageResult):
        return answer
    if isinstance(answer, str):
        answer = TextContent(text=answer)
    if isinstance(answer, get_args(ContentBlock)):
        return CreateMessageResult(
            role="assistant", content=answer, model=MODEL, stop_reason="endTurn"
        )
    raise ScriptError(
        f"{_shown(answer)} is no answer of a model: write text, a content block or a "
        "CreateMessageResult"
    )


# --- in words


def _message_of(params: Any) -> str:
    if isinstance(params, ElicitRequestFormParams | ElicitRequestURLParams):
        return params.message
    if isinstance(params, CreateMessageRequestParams) and params.messages:
        content = params.messages[-1].content
        blocks = content if isinstance(content, list) else [content]
        return "\n".join(block.text for block in blocks if isinstance(block, TextContent))
    return ""


def _described(params: Any) -> str:
    """Say what is asked, after "the server asked"."""
    message = repr(_message_of(params))
    if isinstance(params, ElicitRequestURLParams):
        return f"{message} (a page: {params.url})"
    if isinstance(params, ElicitRequestFormParams):
        fields = ", ".join(params.requested_schema.get("properties", {})) or "none"
        return f"{message} (a form with the fields: {fields})"
    return f"the model {message}"


def _shown(value: Any) -> str:
    if isinstance(value, Struct):
        return repr(value)
    try:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
    except (TypeError, ValueError):
        return repr(value)
