"""The callbacks of a client, by the names that the official SDK has for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypedDict

from msgspec import Struct

from wigwag.client.questions import AnswerElicitation, AnswerSampling, Roots
from wigwag.schema import (
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    LoggingMessageNotificationParams,
    Root,
)


class CallbackNames(TypedDict, total=False):
    """What `Client` takes by these names.

    The first three are async functions that get the client before what they are asked; that for
    roots gets nothing else.
    """

    sampling_callback: Callable[..., Any]
    elicitation_callback: Callable[..., Any]
    list_roots_callback: Callable[..., Any]
    logging_callback: Callable[[LoggingMessageNotificationParams], object]


class OwnNames(Struct, frozen=True, kw_only=True):
    """The same, by the names that they have here."""

    sampling: AnswerSampling | None = None
    elicitation: AnswerElicitation | None = None
    roots: Callable[[], Any] | None = None
    capabilities: ClientCapabilities | None = None
    on_log: Callable[[LoggingMessageNotificationParams], object] | None = None


def by_own_names(callbacks: CallbackNames, client: Any) -> OwnNames:
    """Return what a client is to be made with.

    Args:
        callbacks: What it was given.
        client: The client, which they get where the official SDK has a context.

    Raises:
        TypeError: There is no such name.
    """
    unknown = callbacks.keys() - CallbackNames.__annotations__.keys()
    if unknown:
        raise TypeError(f"Client takes no {min(unknown)!r}")
    sample = callbacks.get("sampling_callback")
    elicit = callbacks.get("elicitation_callback")
    list_roots = callbacks.get("list_roots_callback")

    async def sampling(params: CreateMessageRequestParams) -> CreateMessageResult:
        assert sample is not None
        answer: CreateMessageResult = await _resolved(sample(client, params))
        return answer

    async def elicitation(params: ElicitRequestFormParams | ElicitRequestURLParams) -> ElicitResult:
        assert elicit is not None
        answer: ElicitResult = await _resolved(elicit(client, params))
        return answer

    async def roots() -> Roots:
        assert list_roots is not None
        listed = await _resolved(list_roots(client))
        return [Root(uri=str(root.uri), name=root.name, meta=root.meta) for root in listed.roots]

    both = ClientCapabilities(elicitation=ElicitationCapability(form={}, url={}))
    return OwnNames(
        sampling=None if sample is None else sampling,
        elicitation=None if elicit is None else elicitation,
        roots=None if list_roots is None else roots,
        capabilities=None if elicit is None else both,
        on_log=callbacks.get("logging_callback"),
    )


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
