"""The questions that a handler can put to the client, and what the answers become.

Spec: client, basic/utilities/mrtr
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, overload
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw, Struct

from wigwag.jsonrpc.codec import UNDECODABLE, encode_value
from wigwag.protocol.gates import required_client_capability
from wigwag.protocol.params import ParamsRefused, decode_request_params
from wigwag.schema import (
    ELICITATION_CREATE,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ElicitValue,
    InputRequest,
    ListRootsResult,
    ModelHint,
    ModelPreferences,
    Root,
    SamplingMessage,
    SamplingMessageContentBlock,
    TextContent,
    Tool,
    ToolChoice,
    decode_result,
)
from wigwag.server.asking.defaults import ANSWER_TIMEOUT
from wigwag.server.asking.forms import Form, FormRefused, form_of

ASKED: Final = (ELICITATION_CREATE, ROOTS_LIST, SAMPLING_CREATE_MESSAGE)
"""The methods of what a client can be asked."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AnswerRefused(Exception):
    """The client's answer is none to the question; the text says why."""


class AnswerUnfit(AnswerRefused):
    """The answer is one, but what the user filled in does not fit: they may try again."""


# --- what answers become


class AcceptedElicitation(Struct, Generic[T], frozen=True):
    """The user filled in the form, or agreed to visit the page.

    Attributes:
        data: The fields of the form, as the type that was asked for; `None` for a page.
        content: The same as the client sent them.
    """

    data: T
    content: dict[str, ElicitValue] = {}
    action: Literal["accept"] = "accept"


class DeclinedElicitation(Struct, frozen=True):
    """The user said no."""

    data: None = None
    content: None = None
    action: Literal["decline"] = "decline"


class CancelledElicitation(Struct, frozen=True):
    """The user said nothing: the question was closed or dismissed."""

    data: None = None
    content: None = None
    action: Literal["cancel"] = "cancel"


ElicitationOutcome: TypeAlias = AcceptedElicitation[T] | DeclinedElicitation | CancelledElicitation
ElicitationResult: TypeAlias = ElicitationOutcome[T]
"""The name that the official SDK has for `ElicitationOutcome`."""


class Answer(Struct, frozen=True, array_like=True):
    """What the client answered, and the digest of the question that it is an answer to."""

    digest: str
    value: Raw


# --- questions


class Question(ABC, Generic[T_co]):
    """Something to ask the client; made by `elicit`, `elicit_url`, `sample` and `list_roots`.

    Args:
        timeout: Seconds that a legacy client has to answer; `None` for ever. In the modern
            revisions nobody waits.
    """

    method: str
    key: str
    """What it goes by where the handler gives it no key of its own."""

    def __init__(self, params: Struct | None, timeout: float | None) -> None:
        self.params = params
        self.timeout = timeout

    @abstractmethod
    def read(self, answer: Raw) -> T_co:
        """Read the client's answer.

        Raises:
            AnswerRefused: It is none to this question.
        """

    @property
    def needed(self) -> ClientCapabilities:
        """What a client must have declared to be asked this."""
        return required_client_capability(self.method, self.params)

    @cached_property
    def digest(self) -> str:
        """What tells it from other questions, short enough to be carried around.

        Raises:
            LocalProtocolError: It holds a value that JSON has no form for.
        """
        content = b"%b %b" % (self.method.encode(), encode_value(self.params))
        return hashlib.sha256(content).hexdigest()[:32]

    def _decode(self, answer: Raw) -> Any:
        try:
            return decode_result(self.method, answer)
        except UNDECODABLE as error:
            raise AnswerRefused(f"it is no result of {self.method}: {error}") from None


class FormQuestion(Question[ElicitationOutcome[T]]):
    """A form for the user. Spec: client/elicitation#form-mode-elicitation-requests."""

    method = ELICITATION_CREATE
    key = "elicitation"

    def __init__(self, message: str, form: Form, timeout: float | None) -> None:
        params = ElicitRequestFormParams(mode="form", message=message, requested_schema=form.schema)
        super().__init__(params, timeout)
        self._form = form

    def read(self, answer: Raw) -> ElicitationOutcome[T]:
        """Read what the user did."""
        result: ElicitResult = self._decode(_without_nulls(answer))
        if result.action != "accept":
            return _not_accepted(result)
        content = {} if result.content is UNSET else result.content
        try:
            return AcceptedElicitation(self._form.read(content), content)
        except FormRefused as error:
            raise AnswerUnfit(f"it does not fit the form: {error}") from None


class PageQuestion(Question[ElicitationOutcome[None]]):
    """A page for the user to visit. Spec: client/elicitation#url-mode-elicitation-requests."""

    method = ELICITATION_CREATE
    key = "elicitation"

    def __init__(
        self, message: str, url: str, timeout: float | None, elicitation_id: str | None = None
    ) -> None:
        super().__init__(ElicitRequestURLParams(mode="url", message=message, url=url), timeout)
        self.elicitation_id = elicitation_id
        """What 2025-11-25 calls it by. No other revision has that: it is no part of the question,
        and may be another one each time."""

    def read(self, answer: Raw) -> ElicitationOutcome[None]:
        """Read what the user did."""
        result: ElicitResult = self._decode(answer)
        return AcceptedElicitation(None) if result.action == "accept" else _not_accepted(result)


class _Filled(Struct):
    content: dict[str, Any]


def _without_nulls(answer: Raw) -> Raw:
    """Leave out the fields that some clients send as `null` when the user left them empty."""
    if b"null" not in bytes(answer):
        return answer
    try:
        content = msgspec.json.decode(answer, type=_Filled).content
        members = msgspec.json.decode(answer, type=dict[str, Raw])
    except UNDECODABLE:
        return answer
    filled = {name: value for name, value in content.items() if value is not None}
    return Raw(msgspec.json.encode({**members, "content": filled}))


def _not_accepted(result: ElicitResult) -> DeclinedElicitation | CancelledElicitation:
    return DeclinedElicitation() if result.action == "decline" else CancelledElicitation()


class ModelQuestion(Question[CreateMessageResult]):
    """A conversation for the client's model. Spec: client/sampling#creating-messages."""

    method = SAMPLING_CREATE_MESSAGE
    key = "sampling"

    def read(self, answer: Raw) -> CreateMessageResult:
        """Read what the model has said."""
        result: CreateMessageResult = self._decode(answer)
        return result


class Roots(list[Root]):
    """Where the client works."""

    @property
    def roots(self) -> list[Root]:
        """The same, as the result of the protocol has it."""
        return self


class RootsQuestion(Question[Roots]):
    """Where does the client work? Spec: client/roots#listing-roots."""

    method = ROOTS_LIST
    key = "roots"

    def read(self, answer: Raw) -> Roots:
        """Read the roots."""
        result: ListRootsResult = self._decode(answer)
        return Roots(result.roots)


class WrittenQuestion(Question[Any]):
    """A question as the protocol has it, and its answer likewise."""

    key = "question"

    def __init__(self, request: InputRequest, timeout: float | None) -> None:
        self.method = request.method
        try:
            params = decode_request_params(request.method, request.params)
        except ParamsRefused as error:
            raise ValueError(f"{request.method} cannot be asked so: {error.reason}") from None
        super().__init__(params, timeout)

    def read(self, answer: Raw) -> Any:
        """Read what the client has answered."""
        return self._decode(answer)


def as_question(what: Question[Any] | InputRequest) -> Question[Any]:
    """Return a question that may be written as the protocol has it.

    Raises:
        ValueError: It is not written so.
        TypeError: It is no question at all.
    """
    if isinstance(what, InputRequest):
        if what.method not in ASKED:
            raise ValueError(f"the client cannot be asked {what.method}: only {', '.join(ASKED)}")
        return WrittenQuestion(what, ANSWER_TIMEOUT)
    if not isinstance(what, Question):
        raise TypeError(f"{what!r} is no question: elicit(), sample() and the like return one")
    return what


# --- making them

Message: TypeAlias = str | SamplingMessage | SamplingMessageContentBlock
Messages: TypeAlias = Message | Sequence[Message]


@overload
def elicit(
    message: str, schema: type[T], *, timeout: float | None = ANSWER_TIMEOUT
) -> Question[ElicitationOutcome[T]]: ...
@overload
def elicit(
    message: str,
    schema: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = ANSWER_TIMEOUT,
) -> Question[ElicitationOutcome[dict[str, Any]]]: ...
@overload
def elicit(
    message: str, schema: Any, *, timeout: float | None = ANSWER_TIMEOUT
) -> Question[ElicitationOutcome[Any]]: ...
def elicit(
    message: str, schema: Any = None, *, timeout: float | None = ANSWER_TIMEOUT
) -> Question[Any]:
    """Return a question to the user, by a form; put it with `Context.ask`.

    See `Context.elicit` for what the arguments mean.
    """
    return FormQuestion(_checked(message), form_of(schema), timeout)


def elicit_url(
    message: str,
    url: str,
    elicitation_id: str | None = None,
    *,
    timeout: float | None = ANSWER_TIMEOUT,
) -> Question[ElicitationOutcome[None]]:
    """Return a question to the user, by a page; put it with `Context.ask`.

    See `Context.elicit_url` for what the arguments mean.

    Raises:
        ValueError: `url` is none.
    """
    return PageQuestion(_checked(message), _checked_url(url), timeout, elicitation_id)


def list_roots(*, timeout: float | None = ANSWER_TIMEOUT) -> Question[Roots]:
    """Return the question where the client works; put it with `Context.ask`."""
    return RootsQuestion(None, timeout)


def sample(  # noqa: PLR0913 - options, each of its own and given by name
    messages: Messages,
    *,
    max_tokens: int,
    system_prompt: str | None = None,
    temperature: float | None = None,
    stop_sequences: Sequence[str] | None = None,
    model_preferences: ModelPreferences | Sequence[str] | str | None = None,
    tools: Sequence[Tool] | None = None,
    tool_choice: ToolChoice | Literal["auto", "required", "none"] | None = None,
    include_context: Literal["none", "thisServer", "allServers"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    timeout: float | None = ANSWER_TIMEOUT,
) -> Question[CreateMessageResult]:
    """Return a question to the client's model; put it with `Context.ask`.

    See `Context.sample` for what the arguments mean.
    """
    if isinstance(tool_choice, str):
        tool_choice = ToolChoice(mode=tool_choice)
    if isinstance(model_preferences, str):
        model_preferences = [model_preferences]
    if isinstance(model_preferences, Sequence):
        hints = [ModelHint(name=name) for name in model_preferences]
        model_preferences = ModelPreferences(hints=hints)
    params = CreateMessageRequestParams(
        messages=_to_messages(messages),
        max_tokens=max_tokens,
        system_prompt=_or_unset(system_prompt),
        temperature=_or_unset(temperature),
        stop_sequences=UNSET if stop_sequences is None else list(stop_sequences),
        model_preferences=_or_unset(model_preferences),
        tools=UNSET if tools is None else list(tools),
        tool_choice=_or_unset(tool_choice),
        include_context=_or_unset(include_context),
        metadata=UNSET if metadata is None else dict(metadata),
    )
    return ModelQuestion(params, timeout)


def _checked(message: Any) -> str:
    if not isinstance(message, str):
        raise TypeError(f"the message to the user is text, not {message!r}")
    return message


def _checked_url(url: Any) -> str:
    if not isinstance(url, str):
        raise TypeError(f"a URL is text, not {url!r}")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"{url!r} is no URL: {error}") from None
    if not parts.scheme or (parts.scheme in ("http", "https") and not parts.hostname):
        raise ValueError(f"{url!r} is no URL: it needs scheme and host, as https://example.com has")
    if not all(char.isprintable() and char != " " for char in url):
        raise ValueError(f"{url!r} is no URL: spaces and control characters are to be encoded")
    return url


def _to_messages(messages: Any) -> list[SamplingMessage]:
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        messages = [messages]
    return [_to_message(message) for message in messages]


def _to_message(message: Any) -> SamplingMessage:
    if isinstance(message, SamplingMessage):
        return message
    if isinstance(message, str):
        message = TextContent(text=message)
    return SamplingMessage(role="user", content=message)


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def read_by_shape(answer: Raw) -> ElicitResult | CreateMessageResult | ListRootsResult | None:
    """Read an answer whose question is not at hand; `None` when it answers nothing."""
    for method in ASKED:
        try:
            result: ElicitResult = decode_result(method, answer)
        except UNDECODABLE:
            continue
        return result
    return None


__all__ = [
    "AcceptedElicitation",
    "Answer",
    "AnswerRefused",
    "AnswerUnfit",
    "CancelledElicitation",
    "DeclinedElicitation",
    "ElicitationOutcome",
    "ElicitationResult",
    "FormQuestion",
    "Messages",
    "ModelQuestion",
    "PageQuestion",
    "Question",
    "Roots",
    "RootsQuestion",
    "as_question",
    "elicit",
    "elicit_url",
    "list_roots",
    "read_by_shape",
    "sample",
]
