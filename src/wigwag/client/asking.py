"""How a client asks its server: until there is an answer, a failure, or no use in asking again.

Spec: client, basic/utilities/mrtr
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.client.link import Link, Timeouts, in_one_line
from wigwag.client.questions import Answers
from wigwag.client.resending import LostRequest, Resending
from wigwag.client.response_cache import Ask, ResponseCache
from wigwag.client.trace_context import LOADED_BY_TRACERS, with_trace
from wigwag.errors import (
    InvalidResult,
    LocalProtocolError,
    NotMcp,
    RemoteProtocolError,
    RequestFailed,
    TransportError,
)
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.client import is_of_another_era
from wigwag.runtime.client_connection import OnProgress
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    HEADER_MISMATCH,
    LOG_LEVEL_KEY,
    PROTOCOL_VERSION_KEY,
    RESULT_INPUT_REQUIRED,
    TOOLS_CALL,
    InputRequiredResult,
    InputResponseRequestParams,
    LoggingLevel,
    decode_result,
)

__all__ = ["Asking"]

_logger = logging.getLogger("wigwag.client")

R = TypeVar("R")

# A server that goes on asking is broken, or means to keep us busy.
MAX_INPUT_ROUNDS: Final = 16


class Asking:
    """Sends requests, answers what the server wants to know first, and reads the results.

    Args:
        link: What connects to the server.
        resending: What sends lost requests again.
        answers: What answers its questions.
        timeouts: How long to wait.
        list_tools: Lists the tools anew, when what is known of them proves wrong.
        cache: What keeps answers; `None` to keep none.
    """

    def __init__(
        self,
        link: Link,
        resending: Resending,
        answers: Answers,
        timeouts: Timeouts,
        list_tools: Callable[[], Awaitable[object]],
        cache: ResponseCache | None = None,
    ) -> None:
        self._link = link
        self._resending = resending
        self._answers = answers
        self._timeouts = timeouts
        self._list_tools = list_tools
        self.cache = cache
        self.log_level: LoggingLevel | None = None
        """What modern servers are told with every request, and legacy ones once."""
        self.around: Callable[..., Awaitable[Raw]] | None = None
        """What requests are sent inside of, such as middleware."""

    async def ask(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the protocol's, with its own rules
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        is_inside: bool = False,
    ) -> Raw:
        """Send a request, again if that is of use and does no harm, and return its result.

        Args:
            method: The method.
            params: What it takes.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
            is_inside: Whether it is sent from inside of what is `around`.
        """
        if self.around is not None and not is_inside:
            send = partial(self.ask, is_inside=True)
            return await self.around(
                send, method, params, timeout=timeout, on_progress=on_progress, meta=meta
            )
        link = self._link
        more = _checked_meta(meta) if meta else None
        more = with_trace(more) if LOADED_BY_TRACERS in sys.modules else more
        timeouts = self._timeouts
        idle = timeouts.request if timeout is None else timeout
        ceiling = max(timeouts.ceiling, idle)
        sent: list[OutgoingRequest] = []
        try:
            live = link.live
            if live is None or not live.is_open:
                live = await link.get()
            if self.log_level is not None and link.is_modern:
                more = {LOG_LEVEL_KEY: self.log_level, **(more or {})}
            raw = await live.request(
                method,
                params,
                idle_timeout=idle,
                ceiling=ceiling,
                meta=more,
                on_progress=on_progress,
                on_sent=sent.append,
            )
        except (TransportError, RequestFailed, NotMcp) as error:
            if link.is_on_trust and is_of_another_era(error):
                await link.ask_anew()
            elif self._is_about_headers(error, method):
                # The parameters that are to be repeated in them are others by now.
                await self._list_tools()
            elif not isinstance(error, TransportError) or not link.is_acquainted:
                if self.cache is not None and isinstance(error, RequestFailed):
                    self.cache.note_refused(method, error.code)
                raise
            else:
                lost = LostRequest(
                    method,
                    params,
                    idle=idle,
                    ceiling=ceiling,
                    meta=more,
                    on_progress=on_progress,
                    sent=sent[0] if sent else None,
                )
                return await self._resending.send(lost, error)
        else:
            link.is_on_trust = False
            return raw
        live = await link.get()
        return await live.request(
            method, params, idle_timeout=idle, ceiling=ceiling, meta=more, on_progress=on_progress
        )

    def _is_about_headers(self, error: Exception, method: str) -> bool:
        return (
            isinstance(error, RequestFailed)
            and error.code == HEADER_MISMATCH
            and method == TOOLS_CALL
            and self._link.is_mirroring
        )

    async def call(
        self,
        method: str,
        params: Any,
        result_type: type[R],
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> R:
        """Ask, answer what the server asks in return, and read the result."""
        result, _ = await self.call_for_raw(
            method, params, result_type, timeout=timeout, on_progress=on_progress, meta=meta
        )
        return result

    async def look(
        self,
        method: str,
        params: Any,
        result_type: type[R],
        *,
        uri: str = "",
        cursor: str | UnsetType = UNSET,
        refresh: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> R:
        """Do as `call` does, for what changes nothing, unless the answer is kept already.

        Args:
            method: One of the methods whose results may be kept.
            params: What it takes.
            result_type: The type of its result.
            uri: The resource that is read.
            cursor: The page of a list.
            refresh: Whether only an answer will do that the server gives now.
            timeout: Seconds to wait for an answer or a sign of progress.
        """
        link, cache = self._link, self.cache
        await link.acquaint()
        if cache is None or not link.is_wanted:
            return await self.call(method, params, result_type, timeout=timeout)
        live = link.live
        since = None if live is None else (live, live.protocol.ended_requests)

        async def ask() -> Raw:
            return await self.ask(method, params, timeout=timeout)

        async def fetch() -> Raw:
            return await cache.fetch(
                method,
                ask,
                uri=uri,
                cursor=cursor,
                refresh=refresh,
                since=since,
                timeout=timeout,
            )

        try:
            result, _ = await self.call_for_raw(
                method, params, result_type, timeout=timeout, first=fetch
            )
        except InvalidResult:
            await cache.discard(method, uri=uri)
            raise
        return result

    async def call_for_raw(
        self,
        method: str,
        params: Any,
        result_type: type[R],
        *,
        timeout: float | None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        first: Ask | None = None,
    ) -> tuple[R, Raw]:
        """Do as `call` does, and return what the result was read from, too.

        Args:
            method: The method.
            params: What it takes.
            result_type: The type of its result.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
            first: Gets the answer of the first round.
        """
        if first is None:
            raw = await self.ask(
                method, params, timeout=timeout, on_progress=on_progress, meta=meta
            )
        else:
            raw = await first()
        result = self.read_either(method, raw, result_type)
        if not isinstance(result, InputRequiredResult):
            return result, raw
        return await self.go_on(
            method, params, result, result_type, timeout=timeout, on_progress=on_progress, meta=meta
        )

    async def go_on(
        self,
        method: str,
        params: Any,
        question: InputRequiredResult,
        result_type: type[R],
        *,
        timeout: float | None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> tuple[R, Raw]:
        """Answer what the server asks for as long as it asks; see `call_for_raw`."""
        for _ in range(MAX_INPUT_ROUNDS - 1):
            asked = await self._answered(params, question)
            raw = await self.ask(method, asked, timeout=timeout, on_progress=on_progress, meta=meta)
            result = self.read_either(method, raw, result_type)
            if not isinstance(result, InputRequiredResult):
                return result, raw
            question = result
        raise RemoteProtocolError(
            f"the server still asks for input after {MAX_INPUT_ROUNDS} rounds of {method}"
        )

    async def call_once(
        self,
        method: str,
        params: Any,
        result_type: type[R],
        *,
        timeout: float | None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> tuple[R | InputRequiredResult, Raw]:
        """Do as `call_for_raw` does, but leave it to the caller to answer what the server asks."""
        raw = await self.ask(method, params, timeout=timeout, on_progress=on_progress, meta=meta)
        return self.read_either(method, raw, result_type), raw

    def read_either(self, method: str, raw: Raw, result_type: type[R]) -> R | InputRequiredResult:
        """Read a result, or what the server asks in its place.

        Raises:
            InvalidResult: It is neither.
        """
        result = self.read(method, raw)
        if isinstance(result, result_type):
            return result
        if not isinstance(result, InputRequiredResult):
            kind = getattr(result, "result_type", type(result).__name__)
            raise InvalidResult(f"{method} was answered with a result of type {kind!r}")
        is_empty = result.input_requests is UNSET and result.request_state is UNSET
        if result.result_type != RESULT_INPUT_REQUIRED or is_empty:
            raise InvalidResult("the server asks for input without asking anything")
        return result

    def read(self, method: str, raw: Raw) -> Any:
        """Read a result; what is malformed in it is left out where that is possible.

        Raises:
            InvalidResult: It is no such result.
        """
        try:
            return decode_result(method, raw)
        except (msgspec.DecodeError, RecursionError) as error:
            saved = None
            if isinstance(error, msgspec.ValidationError):
                from wigwag.schema.salvage import salvage_result  # noqa: PLC0415 - it is seldom

                saved = salvage_result(method, raw)
            if saved is None:
                message = f"the result of {method} is not what the protocol says: {error}"
                raise InvalidResult(message) from None
        result, losses = saved
        _logger.warning(
            "%s answered %s with something malformed, which is left out: %s",
            self._link.name,
            method,
            in_one_line(losses),
        )
        return result

    async def _answered(
        self, params: InputResponseRequestParams, result: InputRequiredResult
    ) -> InputResponseRequestParams:
        """Answer the server's questions, and return what to ask it with the answers."""
        questions, state = result.input_requests, result.request_state
        answers: Any = UNSET
        if questions is not UNSET:
            answers = await self._answers.answer_all(questions, self._link.known.revision)
        return msgspec.structs.replace(params, input_responses=answers, request_state=state)


def _checked_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return the caller's members for `_meta`.

    Raises:
        LocalProtocolError: One of them is for the protocol to set.
    """
    for key in meta:
        if key == "progressToken" or key in (
            PROTOCOL_VERSION_KEY,
            CLIENT_CAPABILITIES_KEY,
            CLIENT_INFO_KEY,
        ):
            raise LocalProtocolError(f"`{key}` in `_meta` is for the protocol to set")
    return dict(meta)
