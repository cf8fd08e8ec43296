"""Answers to what servers ask: the user's input, the model, the roots.

In the legacy revisions a server asks by a request of its own, in the modern one inside an
`InputRequiredResult`; the functions that answer are the same.
Spec: client, basic/utilities/mrtr
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag.errors import LocalProtocolError, RemoteProtocolError, RequestFailed
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.protocol.gates import client_declares, required_client_capability
from wigwag.schema import (
    ELICITATION_CREATE,
    ROOTS_LIST,
    SAMPLING_CREATE_MESSAGE,
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequest,
    ListRootsResult,
    Root,
    RootsCapability,
    SamplingCapability,
    decode_params,
    project,
)

AnswerSampling = Callable[
    [CreateMessageRequestParams], CreateMessageResult | Awaitable[CreateMessageResult]
]
Elicited = ElicitResult | Mapping[str, Any] | None
# Of forms alone, unless `capabilities` declares more.
AnswerElicitation = (
    Callable[[ElicitRequestFormParams], Elicited | Awaitable[Elicited]]
    | Callable[[ElicitRequestFormParams | ElicitRequestURLParams], Elicited | Awaitable[Elicited]]
)
Roots = Iterable[Root | str | Path] | str | Path

who_asks: Final[ContextVar[str]] = ContextVar("who_asks", default="The server")
"""In functions that answer: who wants to know, in words for a person."""


class Answers:
    """What a client is willing to answer, and how.

    Args:
        sampling: Asks the model; given, the client declares `sampling`.
        elicitation: Asks the user; given, the client declares `elicitation`, by form unless
            `capabilities` says more, or it has `takes_pages`, for pages too. It returns an
            `ElicitResult`, or the fields of a form that the user accepted, or `None` when the user
            closed it.
        roots: Where the client works; given, it declares `roots`.
        capabilities: What is declared on top of that, or in other words.
        who: Says who asks, for `who_asks`.
    """

    def __init__(
        self,
        *,
        sampling: AnswerSampling | None = None,
        elicitation: AnswerElicitation | None = None,
        roots: Roots | Callable[[], Roots | Awaitable[Roots]] | None = None,
        capabilities: ClientCapabilities | None = None,
        who: Callable[[], str] | None = None,
    ) -> None:
        self.around: Callable[..., Awaitable[Struct]] | None = None
        """What questions are answered inside of, such as middleware."""
        self._who = who
        self._sampling = sampling
        self._elicitation = elicitation
        self._roots = roots
        declared = capabilities or ClientCapabilities()
        implied: dict[str, Any] = {}
        if sampling is not None and declared.sampling is UNSET:
            implied["sampling"] = SamplingCapability()
        if elicitation is not None and declared.elicitation is UNSET:
            takes_pages = getattr(elicitation, "takes_pages", False)
            url: dict[str, Any] | UnsetType = {} if takes_pages else UNSET
            implied["elicitation"] = ElicitationCapability(form={}, url=url)
        if roots is not None and declared.roots is UNSET:
            implied["roots"] = RootsCapability(list_changed=True)
        self.capabilities = msgspec.structs.replace(declared, **implied)

    async def answer(self, method: str, params: Any) -> Struct:
        """Answer one question.

        Raises:
            RequestFailed: There is nothing that answers it.
        """
        if self._who is not None:
            who_asks.set(self._who())
        if self.around is not None:
            return await self.around(self._answer, method, params)
        return await self._answer(method, params)

    async def _answer(self, method: str, params: Any) -> Struct:
        if method == SAMPLING_CREATE_MESSAGE and self._sampling is not None:
            return _sampled(await _resolved(self._sampling(params)))
        if method == ELICITATION_CREATE and self._elicitation is not None:
            return _elicit_result(params, await _resolved(self._elicitation(params)))
        if method == ROOTS_LIST and self._roots is not None:
            roots: Any = self._roots
            if callable(roots):
                roots = await _resolved(roots())
            if isinstance(roots, str | Path):
                roots = [roots]
            return ListRootsResult(roots=[_root(root) for root in roots])
        raise RequestFailed(METHOD_NOT_FOUND, f"Method not found: this client has no {method}")

    async def answer_all(
        self, questions: Mapping[str, InputRequest], revision: str
    ) -> dict[str, Raw]:
        """Answer the questions of an `InputRequiredResult`, all of them at the same time.

        Raises:
            RemoteProtocolError: One is none that the client declared that it answers.
        """
        checked = {key: (q.method, self._check(q)) for key, q in questions.items()}
        asking = [asyncio.ensure_future(self.answer(*question)) for question in checked.values()]
        try:
            found = await asyncio.gather(*asking)
        finally:
            for task in asking:  # when one fails, nobody waits for the others
                task.cancel()
        return {
            key: Raw(encode_value(project(result, revision)))
            for key, result in zip(checked, found, strict=True)
        }

    def _check(self, question: InputRequest) -> Any:
        method = question.method
        if method not in (SAMPLING_CREATE_MESSAGE, ELICITATION_CREATE, ROOTS_LIST):
            raise RemoteProtocolError(f"the server asks for {method}, which is no question")
        try:
            params = decode_params(method, question.params)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RemoteProtocolError(f"the server's {method} is broken: {error}") from None
        if not client_declares(self.capabilities, required_client_capability(method, params)):
            raise RemoteProtocolError(
                f"the server asks for {method}, which this client did not declare"
            )
        return params


async def _resolved(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _sampled(result: Any) -> CreateMessageResult:
    if isinstance(result, CreateMessageResult):
        return result
    kind = type(result).__name__
    raise LocalProtocolError(f"`sampling` must return a CreateMessageResult, not {kind}")


def _elicit_result(params: Any, answer: Elicited) -> ElicitResult:
    if answer is None:
        return ElicitResult(action="cancel")
    if isinstance(answer, ElicitResult):
        result = answer
    elif isinstance(answer, Mapping):
        result = ElicitResult(action="accept", content=dict(answer))
    else:
        kind = type(answer).__name__
        raise LocalProtocolError(f"`elicitation` must return an ElicitResult, not {kind}")
    if result.action != "accept" or not isinstance(params, ElicitRequestFormParams):
        return result
    # A user who accepts a form as it stands has accepted what was filled in already.
    properties = params.requested_schema.get("properties", {})
    defaults = {
        name: schema["default"]
        for name, schema in properties.items()
        if isinstance(schema, dict) and "default" in schema
    }
    content = {} if result.content is UNSET else result.content
    return msgspec.structs.replace(result, content={**defaults, **content})


def _root(root: Root | str | Path) -> Root:
    if isinstance(root, Root):
        return root
    if isinstance(root, str) and root.startswith("file:"):
        return Root(uri=root)
    path = Path(root).absolute()
    if not path.is_dir():
        raise LocalProtocolError(f"the root {root} is no folder")
    return Root(uri=path.as_uri(), name=path.name or UNSET)
