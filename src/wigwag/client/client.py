"""The public `Client`: connects to any server of any era and speaks its revision.

Spec: client
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack, get_args, overload

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag._version import __version__
from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.client.eras import HTTP_SSE, LEGACY, MODERN, EraCache, eras_of_this_process
from wigwag.client.listening import Changes, FilterMembers, is_worth_retrying
from wigwag.client.output_schemas import OutputSchemas
from wigwag.client.questions import AnswerElicitation, Answers, AnswerSampling, Roots
from wigwag.client.targets import opener_for
from wigwag.client.tool_results import ToolCallResult, data_of
from wigwag.errors import (
    ConnectionClosed,
    HttpStatusError,
    InvalidResult,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
    ServerStartFailed,
    ServerUnreachable,
    SessionLost,
    ToolFailed,
)
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.client import ClientDescription, ClientProtocol, may_be_http_sse
from wigwag.protocol.events import Connected, NotificationReceived, RequestReceived
from wigwag.protocol.gates import server_declares
from wigwag.protocol.subscriptions import honored
from wigwag.runtime.callbacks import Callbacks
from wigwag.runtime.client_connection import ClientConnection, OnProgress
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    COMPLETION_COMPLETE,
    HEADER_MISMATCH,
    LEGACY_REVISIONS,
    LOG_LEVEL_KEY,
    LOGGING_SET_LEVEL,
    MODERN_REVISIONS,
    NOTIFICATIONS_MESSAGE,
    NOTIFICATIONS_ROOTS_LIST_CHANGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    PROTOCOL_VERSION_KEY,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UNSUBSCRIBE,
    RESULT_INPUT_REQUIRED,
    REVISIONS,
    SERVER_DISCOVER,
    SUBSCRIPTIONS_LISTEN,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_CALL,
    TOOLS_LIST,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequestParams,
    CancelTaskResult,
    ClientCapabilities,
    CompleteRequestParams,
    CompleteResult,
    CompletionArgument,
    CompletionContext,
    CreateTaskResult,
    DiscoverResult,
    GetPromptRequestParams,
    GetPromptResult,
    GetTaskPayloadRequestParams,
    GetTaskRequestParams,
    GetTaskResult,
    Implementation,
    InputRequiredResult,
    InputResponseRequestParams,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListTasksResult,
    ListToolsResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionFilter,
    SubscriptionsListenRequestParams,
    TaskMetadata,
    Tool,
    UnsubscribeRequestParams,
    decode_result,
)
from wigwag.transports.contract import Connection
from wigwag.transports.stdio_client import OnStderr

if TYPE_CHECKING:  # not every client needs them
    from wigwag.bindings.mirrored_parameters import MirroredParameter
    from wigwag.client.callback_names import CallbackNames
    from wigwag.transports.http_client_engine import TLS, Headers

_logger = logging.getLogger("wigwag.client")

R = TypeVar("R")

OnLog = Callable[[LoggingMessageNotificationParams], object]
OnNotification = Callable[[str, Any], object]

# A server that goes on asking is broken, or means to keep us busy.
MAX_INPUT_ROUNDS: Final = 16
# Before, there was no structured content.
STRUCTURED_SINCE: Final = "2025-06-18"
# A list of more pages than this never ends.
MAX_PAGES: Final = 10_000
# So many malformed parts of one result are named in the log.
MAX_LOSSES_SHOWN: Final = 10
# So often in a row a subscription is asked for in vain.
MAX_LISTEN_TRIES: Final = 6

# Asking these twice does no more than asking once, so a lost answer can be asked for again.
_REPEATABLE: Final = frozenset(
    {
        SERVER_DISCOVER,
        TOOLS_LIST,
        RESOURCES_LIST,
        RESOURCES_TEMPLATES_LIST,
        RESOURCES_READ,
        RESOURCES_SUBSCRIBE,
        RESOURCES_UNSUBSCRIBE,
        PROMPTS_LIST,
        PROMPTS_GET,
        COMPLETION_COMPLETE,
        LOGGING_SET_LEVEL,
        PING,
    }
)


class Timeouts(Struct, frozen=True, kw_only=True):
    """How long a client waits, in seconds.

    Attributes:
        request: For an answer, or for the next sign of progress; overridable for each request.
        ceiling: For an answer in any case, whatever the progress.
        connect: For the whole of connecting, the start of a process included.
        probe: For the answer to the question which era a server is of; who is silent counts as
            legacy. By default 3 s for a URL, and 5 s for anything else, which may be starting up.
    """

    request: float = 60.0
    ceiling: float = 1800.0
    connect: float = 60.0
    probe: float | None = None


class Client:
    """A client of one MCP server, of whatever era.

    Use it as `async with Client(target) as client:`, or call `connect` and `close`, from whatever
    tasks, as often as you like. All methods that ask the server raise the same few exceptions:

    - `RequestFailed`: it answered with an error.
    - `RequestTimedOut`: it did not answer in time.
    - `ConnectionClosed`: it has gone, or was never there.
    - `RemoteProtocolError`: what it answered makes no sense.
    - `LocalProtocolError`: it cannot be asked this; nothing was sent.

    For a URL these may be more special: `ServerUnreachable` and its kinds, `HttpStatusError`,
    `NotMcp`.

    Args:
        target: A `Server` in this process; a command as a list; `StdioServerParameters`; the path
            of a Python file; a URL that begins with `http://` or `https://`, which is used as it
            is; `tcp://host:port` or `unix:path`; an entry of the configuration of a host, or a
            configuration of one server, or the path of its JSON file (`load_configuration`); or a
            function that opens a `Connection`.
        mode: `auto` finds out what the server speaks; `legacy`, `modern` or a revision insists.
        revision: The one revision to speak, for example `2025-06-18`; in place of `mode`.
        info: What the client calls itself.
        env: Variables for a server process, laid over a safe part of this process's environment.
        cwd: The folder a server process starts in.
        on_stderr: Called with each line of a server process's standard error; by default the lines
            go to this process's standard error.
        sampling: Asks the model for the server, given `CreateMessageRequestParams`.
        elicitation: Asks the user for the server, given `ElicitRequestFormParams` or, if
            `capabilities` declares it, `ElicitRequestURLParams`.
        roots: The folders the client works in, or a function that returns them; it may be `async`.
        capabilities: What the client declares beyond what these imply.
        on_log: Called with each log message of the server.
        on_notification: Called with method and params of each notification.
        timeouts: How long it waits.
        restart: When the server has died, start it anew for the next request, and ask again what
            can safely be asked twice. A tool is called again only if it is annotated as read-only
            or idempotent.
        max_message_bytes: Longest message accepted from the server.
        headers: What each HTTP request carries besides, for example `Authorization`: a mapping, or
            a function that returns one and is called for each request; it may be `async`. They go
            to the origin of the URL only: a redirect to another one is not followed.
        ssl: Which HTTPS servers are trusted: an `ssl.SSLContext`, which may also hold the
            certificate of the client, or a file of certificates of authorities.
        http_client: An `aiohttp.ClientSession` or an `httpx2.AsyncClient` that makes the requests,
            with its own proxies and limits; it is not closed. Without it the client makes its own,
            which takes proxies from the environment (`HTTPS_PROXY`, `NO_PROXY`) and keeps no
            cookies.
        era_cache: Where it is kept which era the server at a URL is of, so that another client
            need not find out: a mapping of yours, which you may store. By default it lasts as long
            as this process. What proves wrong is found out anew.
        callbacks: `sampling_callback`, `elicitation_callback`, `list_roots_callback` and
            `logging_callback`, as the official SDK has them: the first three get the client before
            what they are asked, and `elicitation_callback` is asked for pages, too.
    """

    def __init__(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        target: Any,
        *,
        mode: str = "auto",
        revision: str | None = None,
        info: Implementation | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        on_stderr: OnStderr | None = None,
        sampling: AnswerSampling | None = None,
        elicitation: AnswerElicitation | None = None,
        roots: Roots | Callable[[], Roots | Awaitable[Roots]] | None = None,
        capabilities: ClientCapabilities | None = None,
        on_log: OnLog | None = None,
        on_notification: OnNotification | None = None,
        timeouts: Timeouts | None = None,
        restart: bool = False,
        max_message_bytes: int = DEFAULT_MAX_LINE_BYTES,
        headers: Headers | None = None,
        ssl: TLS | None = None,
        http_client: Any = None,
        era_cache: EraCache | None = None,
        **callbacks: Unpack[CallbackNames],
    ) -> None:
        if callbacks:
            from wigwag.client.callback_names import by_own_names  # noqa: PLC0415 - few use them

            own = by_own_names(callbacks, self)
            sampling, elicitation = sampling or own.sampling, elicitation or own.elicitation
            roots = own.roots if roots is None else roots
            capabilities, on_log = capabilities or own.capabilities, on_log or own.on_log
        mode = _mode_of(mode, revision)
        self._opener = opener_for(
            target,
            env=env,
            cwd=cwd,
            on_stderr=on_stderr,
            max_message_bytes=max_message_bytes,
            headers=headers,
            ssl=ssl,
            http_client=http_client,
        )
        self._answers = Answers(
            sampling=sampling,
            elicitation=elicitation,
            roots=roots,
            capabilities=capabilities,
            who=self._who,
        )
        self._description = ClientDescription(
            info=info or Implementation(name="wigwag", version=__version__),
            capabilities=self._answers.capabilities,
            revisions=_revisions_of(mode),
        )
        self._on_log = on_log
        self._on_notification = on_notification
        self._timeouts = timeouts or Timeouts()
        self._restart = restart
        self._live: ClientConnection | None = None
        self._closing: ClientConnection | None = None
        self._connected: Connected | None = None
        self._opening: asyncio.Task[ClientConnection] | None = None
        self._retired: set[ClientConnection] = set()
        self._is_wanted = False  # between `connect` and `close`
        self._eras: EraCache = {}
        if self._opener.url is not None and mode == "auto":  # else it would not be the whole truth
            self._eras = eras_of_this_process if era_cache is None else era_cache
            if self._opener.is_http_sse:  # it was said to be so
                self._eras = {self._opener.url: HTTP_SSE}
        self._repeatable_tools: set[str] = set()
        self._output_schemas = OutputSchemas(self._opener.name)
        self._mirrored: dict[str, Sequence[MirroredParameter]] = {}
        self._invalid_tools: dict[str, str] = {}  # and why
        self._log_level: LoggingLevel | None = None
        self._listeners: set[Changes] = set()
        self._callbacks = Callbacks()

    # --- connecting

    async def connect(self) -> Self:
        """Open the connection and find out what the server speaks; does nothing when it is open.

        Raises:
            ServerStartFailed: A server process could not be started, or ended at once.
            ConnectionClosed: The connection ended meanwhile.
            HttpStatusError: An HTTP server refused; 401 and 403 mean that it wants credentials.
            ServerUnreachable: There is no HTTP server.
            TransportError: Nobody can be reached there.
            NotMcp: What answers is no MCP server.
            RemoteProtocolError: There is no revision that both speak.
            RequestFailed: The server refused.
        """
        self._is_wanted = True
        await self._connection(reopen=True)
        return self

    async def close(self) -> None:
        """Close the connection; a server process is ended. May be called twice, by any task.

        Requests still under way fail with `ConnectionClosed`.
        """
        self._is_wanted = False
        opening, live = self._opening, self._live
        self._opening = self._live = None
        for retired in list(self._retired):
            await retired.aclose()
        if opening is not None and not opening.done():
            opening.cancel()
            await asyncio.wait([opening])
        if live is not None:
            self._closing = live
        if self._closing is not None:  # also when another task has begun to close it
            await self._closing.aclose()

    async def __aenter__(self) -> Self:
        """Connect."""
        try:
            return await self.connect()
        except BaseException:  # also when cancelled: nobody would close what is being opened
            await self.close()
            raise

    async def __aexit__(self, *exc: object) -> None:
        """Close."""
        await self.close()

    def __repr__(self) -> str:
        """What it is a client of, and whether it is connected."""
        state = "connected" if self.is_connected else "not connected"
        return f"<Client of {self._opener.name}, {state}>"

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._live is not None and self._live.is_open

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken, for example `2026-07-28`."""
        return self._known.revision

    @property
    def revision(self) -> str:
        """The same as `protocol_version`."""
        return self._known.revision

    @property
    def server_info(self) -> Implementation | None:
        """What the server calls itself, if it says so. Nobody vouches for it: display only."""
        info = self._known.server_info
        return None if info is UNSET else info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server declared that it offers."""
        return self._known.capabilities

    @property
    def capabilities(self) -> ServerCapabilities:
        """The same as `server_capabilities`."""
        return self._known.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server wants the model to know."""
        text = self._known.instructions
        return None if text is UNSET else text

    @property
    def _known(self) -> Connected:
        if self._connected is None:
            raise LocalProtocolError("not connected: use `async with client:` or `connect()`")
        return self._connected

    @property
    def _is_modern(self) -> bool:
        return self._known.revision in MODERN_REVISIONS

    async def _connection(self, *, reopen: bool = False) -> ClientConnection:
        """Return the open connection; open it anew if that is wanted."""
        live = self._live
        if live is not None and live.is_open:
            return live
        if not self._is_wanted:
            raise LocalProtocolError("not connected: use `async with client:` or `connect()`")
        if live is not None and not (reopen or self._restart or self._opener.url is not None):
            return live  # dead: it says why
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open(live))
            self._opening.add_done_callback(self._opened)
        # Whoever is cancelled while waiting does not take the connection from the others.
        return await asyncio.shield(self._opening)

    def _opened(self, task: asyncio.Task[ClientConnection]) -> None:
        if self._opening is task:
            self._opening = None
        if not task.cancelled():
            task.exception()  # raised where it is waited for, if anywhere

    async def _open(self, dead: ClientConnection | None) -> ClientConnection:
        if dead is not None and dead.has_lost_session:
            self._retire(dead)
        elif dead is not None:
            await dead.aclose()
        try:
            async with asyncio.timeout(self._timeouts.connect):
                live = await self._open_as(self._eras.get(self._opener.url or ""))
        except TimeoutError:
            limit = self._timeouts.connect
            kind = ServerStartFailed if self._opener.url is None else ServerUnreachable
            raise kind(f"{self._opener.name} was not ready within {limit:g} s") from None
        self._live = live
        self._output_schemas.doubt()
        if live.exchanges is not None:
            for tool, parameters in self._mirrored.items():
                live.exchanges.mirror_parameters(tool, parameters)
        if not self._is_modern:
            await self._restore(live)
        return live

    def _retire(self, live: ClientConnection) -> None:
        """Let those who wait for answers have them, or learn that there will be none."""
        self._retired.add(live)
        task = asyncio.get_running_loop().create_task(live.retire())
        task.add_done_callback(lambda _: self._retired.discard(live))

    async def _restore(self, live: ClientConnection) -> None:
        """Tell a legacy server what an earlier connection was told to remember."""
        timeout = self._timeouts.request
        if self._log_level is not None:
            params = SetLevelRequestParams(level=self._log_level)
            await live.request(LOGGING_SET_LEVEL, params, idle_timeout=timeout)
        uris = {uri for changes in self._listeners for uri in changes.subscribed}
        for uri in uris:
            await live.request(
                RESOURCES_SUBSCRIBE, SubscribeRequestParams(uri=uri), idle_timeout=timeout
            )

    async def _open_as(self, era: str | None) -> ClientConnection:
        """Connect, as to a server of this era if that is known; find out if it proves wrong."""
        key = self._opener.url or ""
        try:
            if era == HTTP_SSE and self._opener.open_older is not None:
                live = await self._greet(await self._opener.open_older(), skip_probe=True)
            else:
                live, era = await self._find_out(skip_probe=era == LEGACY)
        except (HttpStatusError, RequestFailed, RemoteProtocolError):
            if era not in (LEGACY, HTTP_SSE) or self._opener.url is None:
                raise
            self._eras.pop(key, None)
            return await self._open_as(None)
        self._eras[key] = era
        return live

    async def _find_out(self, *, skip_probe: bool) -> tuple[ClientConnection, str]:
        """Connect to a server of whatever era, and return which it is."""
        try:
            live = await self._greet(await self._opener.open(), skip_probe=skip_probe)
            return live, MODERN if live.protocol.is_modern else LEGACY
        except (HttpStatusError, RequestFailed) as error:
            if self._opener.open_older is None or not may_be_http_sse(error):
                raise
            refusal = error
        older: Connection | None = None
        with suppress(McpError):  # it is but a guess
            older = await self._opener.open_older()
        if older is None:
            raise refusal
        return await self._greet(older, skip_probe=True), HTTP_SSE

    async def _greet(self, connection: Connection, *, skip_probe: bool) -> ClientConnection:
        """Find out what the server on a connection speaks."""
        probe_timeout = self._timeouts.probe
        if probe_timeout is None:
            probe_timeout = 5.0 if self._opener.url is None else 3.0
        protocol = ClientProtocol(
            self._description,
            probe_timeout=probe_timeout,
            connect_timeout=self._timeouts.connect,
        )
        live = ClientConnection(
            connection,
            protocol,
            answer=self._answer,
            on_notification=self._note,
            on_lost=self._note_lost,
        )
        try:
            self._connected = await live.connect(skip_probe=skip_probe)
        except ConnectionClosed as error:
            await live.aclose()
            if protocol.is_probing and self._opener.is_process:
                # Some legacy servers die of a question they do not know.
                return await self._greet(await self._opener.open(), skip_probe=True)
            if self._opener.is_process:
                raise ServerStartFailed(
                    f"{error.reason} before it was ready",
                    exit_code=error.exit_code,
                    stderr=error.stderr,
                ) from None
            raise
        except BaseException:
            await live.aclose()
            raise
        return live

    # --- asking

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | Struct | None = None,
        *,
        result_type: type[R] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        """Ask the server anything, also what only an extension knows.

        Args:
            method: The method.
            params: What it takes, as plain JSON values or as a type of `wigwag.schema`.
            result_type: The type to read the result as; by default plain JSON values, with all
                members that the server sent.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
        """
        if "_meta" in params if isinstance(params, Mapping) else _has_meta(params):
            raise LocalProtocolError("give the members of `_meta` as `meta`")
        raw = await self._ask(method, params, timeout=timeout, on_progress=on_progress, meta=meta)
        try:
            return msgspec.json.decode(raw, type=result_type or Any)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidResult(
                f"the result of {method} is not what was expected: {error}"
            ) from None

    async def _ask(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the protocol's, with its own rules
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Raw:
        live = self._live
        if live is None or not live.is_open:
            live = await self._connection()
        more = _checked_meta(meta) if meta else None
        if self._log_level is not None and self._is_modern:
            more = {LOG_LEVEL_KEY: self._log_level, **(more or {})}
        timeouts = self._timeouts
        idle = timeouts.request if timeout is None else timeout
        ceiling = max(timeouts.ceiling, idle)
        try:
            return await live.request(
                method,
                params,
                idle_timeout=idle,
                ceiling=ceiling,
                meta=more,
                on_progress=on_progress,
            )
        except ConnectionClosed as error:
            if not self._may_ask_again(error, method, params):
                raise
        except RequestFailed as error:
            if not (error.code == HEADER_MISMATCH and method == TOOLS_CALL and self._is_mirroring):
                raise
            await self.list_tools()  # the parameters to be repeated in headers are others by now
        live = await self._connection()
        return await live.request(
            method, params, idle_timeout=idle, ceiling=ceiling, meta=more, on_progress=on_progress
        )

    def _may_ask_again(self, error: ConnectionClosed, method: str, params: Any) -> bool:
        """Tell whether a request that got no answer can be sent once more without harm."""
        if not self._is_wanted:
            return False
        if isinstance(error, SessionLost):
            return error.was_refused or self._is_repeatable(method, params)
        return self._restart and self._is_repeatable(method, params)

    @property
    def _is_mirroring(self) -> bool:
        """Whether headers repeat what is in requests: with modern servers, over HTTP."""
        live = self._live
        return live is not None and live.exchanges is not None and self._is_modern

    def _is_repeatable(self, method: str, params: Any) -> bool:
        if method == TOOLS_CALL:
            name = params.get("name") if isinstance(params, Mapping) else params.name
            return name in self._repeatable_tools
        return method in _REPEATABLE

    async def _call(
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
        result, _ = await self._call_for_raw(
            method, params, result_type, timeout=timeout, on_progress=on_progress, meta=meta
        )
        return result

    async def _call_for_raw(
        self,
        method: str,
        params: Any,
        result_type: type[R],
        *,
        timeout: float | None,  # noqa: ASYNC109
        on_progress: OnProgress | None,
        meta: Mapping[str, Any] | None,
    ) -> tuple[R, Raw]:
        """Do as `_call` does, and return what the result was read from, too."""
        asked = params
        for _ in range(MAX_INPUT_ROUNDS):
            raw = await self._ask(
                method, asked, timeout=timeout, on_progress=on_progress, meta=meta
            )
            result = self._read(method, raw)
            if isinstance(result, result_type):
                return result, raw
            if not isinstance(result, InputRequiredResult):
                kind = getattr(result, "result_type", type(result).__name__)
                raise InvalidResult(f"{method} was answered with a result of type {kind!r}")
            asked = await self._retry_params(params, result)
        raise RemoteProtocolError(
            f"the server still asks for input after {MAX_INPUT_ROUNDS} rounds of {method}"
        )

    def _read(self, method: str, raw: Raw) -> Any:
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
        shown = [*losses[:MAX_LOSSES_SHOWN], *(["and more"] if losses[MAX_LOSSES_SHOWN:] else [])]
        _logger.warning(
            "%s answered %s with something malformed, which is left out: %s",
            self._opener.name,
            method,
            "; ".join(shown),
        )
        return result

    async def _retry_params(
        self, params: InputResponseRequestParams, result: InputRequiredResult
    ) -> InputResponseRequestParams:
        """Answer the server's questions. Spec: basic/utilities/mrtr."""
        questions, state = result.input_requests, result.request_state
        if result.result_type != RESULT_INPUT_REQUIRED or (questions is UNSET and state is UNSET):
            raise InvalidResult("the server asks for input without asking anything")
        answers: Any = UNSET
        if questions is not UNSET:
            answers = await self._answers.answer_all(questions, self.protocol_version)
        return msgspec.structs.replace(params, input_responses=answers, request_state=state)

    # --- tools

    async def list_tools(self, *, cursor: str | None = None) -> ListToolsResult:
        """List the server's tools: all of them, or the page of a cursor. Spec: server/tools.

        Over HTTP a modern server may want arguments repeated in headers. A tool that says so in a
        way that breaks the rules cannot be called; it is left out, and the log says why.
        """
        return self._noted(await self._list(TOOLS_LIST, ListToolsResult, "tools", cursor))

    async def tool_pages(self) -> AsyncIterator[ListToolsResult]:
        """List the server's tools page by page, for example `async for page in …`."""
        async for page in self._pages(TOOLS_LIST, ListToolsResult, "tools"):
            yield self._noted(page)

    def _noted(self, result: ListToolsResult) -> ListToolsResult:
        """Note what a client must know of tools; leave out those that cannot be called."""
        for tool in result.tools:
            self._remember(tool)
        if not self._is_mirroring:
            return result
        sound = [tool for tool in result.tools if self._mirror(tool)]
        return msgspec.structs.replace(result, tools=sound)

    def _mirror(self, tool: Tool) -> bool:
        """Note which arguments calls to a tool repeat in headers; tell whether it is sound."""
        from wigwag.bindings.mirrored_parameters import mirrored_parameters  # noqa: PLC0415

        try:
            parameters = mirrored_parameters(tool.input_schema)
        except ValueError as error:
            if self._invalid_tools.get(tool.name) != str(error):
                self._invalid_tools[tool.name] = str(error)
                _logger.warning(
                    "left out the tool %r of %s: %s", tool.name, self._opener.name, error
                )
            return False
        self._mirrored[tool.name] = parameters
        if self._live is not None and self._live.exchanges is not None:
            self._live.exchanges.mirror_parameters(tool.name, parameters)
        return True

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: None = None,
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolCallResult[Any]: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: Literal[True],
        check_output: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolCallResult[R]: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolCallResult[R | None]: ...

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[Any] | None = None,
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolCallResult[Any]:
        """Call a tool. Spec: server/tools#calling-tools.

        A tool that fails does not raise, unless that is asked for: its result has `is_error`, and
        its content is for the model to read.

        Args:
            name: The tool.
            arguments: What it takes.
            result_type: What `data` of the result is to be: a type of msgspec, of pydantic or of
                the standard library. It is read from the structured content, or else from the text.
            raise_on_error: Whether a tool that fails raises.
            check_output: Whether the output of a tool that was listed is held to its output schema.
                That takes `wigwag[schema]`; without it nothing is checked.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.

        Raises:
            ToolFailed: The tool failed, and `raise_on_error` is set.
            InvalidResult: The output fits neither its schema nor `result_type`, or is no result.
        """
        encoded = UNSET if arguments is None else _encode_arguments(arguments)
        params = CallToolRequestParams(name=name, arguments=encoded)
        result, raw = await self._call_for_raw(
            TOOLS_CALL, params, CallToolResult, timeout=timeout, on_progress=on_progress, meta=meta
        )
        if result.is_error:
            failed: ToolCallResult[Any] = ToolCallResult.of(result, None, raw)
            if raise_on_error:
                raise ToolFailed(result.text or f"the tool {name!r} failed", failed)
            return failed
        if check_output:
            self._check_output(name, result)
        is_wrapped = self._output_schemas.is_wrapping(name)
        try:
            data = data_of(result, result_type, is_wrapped=is_wrapped)
        except ValueError as error:
            raise InvalidResult(
                f"the output of the tool {name!r} is no {_type_name(result_type)}: {error}"
            ) from None
        return ToolCallResult.of(result, data, raw)

    def _check_output(self, name: str, result: CallToolResult) -> None:
        problem = self._output_schemas.problem_of(
            name,
            result.structured_content,
            may_lack=self.protocol_version < STRUCTURED_SINCE,
        )
        if problem is not None:
            raise InvalidResult(
                f"the output of the tool {name!r} does not fit its output schema: {problem} "
                "(`check_output=False` takes it as it is)"
            )

    def _remember(self, tool: Tool) -> None:
        self._output_schemas.remember(tool)
        hints = tool.annotations
        if hints is not UNSET and True in (hints.read_only_hint, hints.idempotent_hint):
            self._repeatable_tools.add(tool.name)
        else:
            self._repeatable_tools.discard(tool.name)

    # --- resources

    async def list_resources(self, *, cursor: str | None = None) -> ListResourcesResult:
        """List the server's resources: all of them, or the page of a cursor."""
        return await self._list(RESOURCES_LIST, ListResourcesResult, "resources", cursor)

    def resource_pages(self) -> AsyncIterator[ListResourcesResult]:
        """List the server's resources page by page."""
        return self._pages(RESOURCES_LIST, ListResourcesResult, "resources")

    async def list_resource_templates(
        self, *, cursor: str | None = None
    ) -> ListResourceTemplatesResult:
        """List the server's resource templates: all of them, or the page of a cursor."""
        return await self._list(
            RESOURCES_TEMPLATES_LIST, ListResourceTemplatesResult, "resource_templates", cursor
        )

    def resource_template_pages(self) -> AsyncIterator[ListResourceTemplatesResult]:
        """List the server's resource templates page by page."""
        return self._pages(
            RESOURCES_TEMPLATES_LIST, ListResourceTemplatesResult, "resource_templates"
        )

    async def read_resource(
        self,
        uri: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ReadResourceResult:
        """Read a resource. Spec: server/resources#reading-resources."""
        params = ReadResourceRequestParams(uri=uri)
        return await self._call(
            RESOURCES_READ,
            params,
            ReadResourceResult,
            timeout=timeout,
            on_progress=on_progress,
            meta=meta,
        )

    async def subscribe_resource(self, uri: str) -> None:
        """Ask a legacy server to tell when a resource changes; `listen` serves both eras."""
        await self._ask(RESOURCES_SUBSCRIBE, SubscribeRequestParams(uri=uri))

    async def unsubscribe_resource(self, uri: str) -> None:
        """Undo `subscribe_resource`."""
        await self._ask(RESOURCES_UNSUBSCRIBE, UnsubscribeRequestParams(uri=uri))

    # --- prompts and completion

    async def list_prompts(self, *, cursor: str | None = None) -> ListPromptsResult:
        """List the server's prompts: all of them, or the page of a cursor."""
        return await self._list(PROMPTS_LIST, ListPromptsResult, "prompts", cursor)

    def prompt_pages(self) -> AsyncIterator[ListPromptsResult]:
        """List the server's prompts page by page."""
        return self._pages(PROMPTS_LIST, ListPromptsResult, "prompts")

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> GetPromptResult:
        """Get a prompt's messages. Spec: server/prompts#getting-a-prompt."""
        params = GetPromptRequestParams(
            name=name, arguments=UNSET if arguments is None else dict(arguments)
        )
        return await self._call(
            PROMPTS_GET,
            params,
            GetPromptResult,
            timeout=timeout,
            on_progress=on_progress,
            meta=meta,
        )

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: str | Mapping[str, str],
        value: str = "",
        *,
        context: Mapping[str, str] | None = None,
    ) -> CompleteResult:
        """Ask how an argument may go on. Spec: server/utilities/completion.

        Args:
            ref: The prompt or the resource template.
            argument: The name of the argument; or `name` and `value` in a mapping.
            value: What has been typed so far.
            context: The arguments that are known already.
        """
        typed = {"name": argument, "value": value} if isinstance(argument, str) else argument
        params = CompleteRequestParams(
            ref=ref,
            argument=CompletionArgument(name=typed["name"], value=typed["value"]),
            context=UNSET if context is None else CompletionContext(arguments=dict(context)),
        )
        return await self._call(COMPLETION_COMPLETE, params, CompleteResult)

    # --- the session and the server itself

    async def ping(self) -> None:
        """See whether the server answers, in whichever way its era has for it."""
        await self._ask(SERVER_DISCOVER if self._is_modern else PING, None)

    async def discover(self) -> DiscoverResult:
        """Ask a modern server anew what it is and can do. Spec: server/discover."""
        return await self._call(SERVER_DISCOVER, None, DiscoverResult)

    async def set_logging_level(self, level: LoggingLevel) -> None:
        """Ask for log messages of this level and above, from now on.

        A legacy server is told once; a modern one with every request.

        Raises:
            LocalProtocolError: There is no such level.
        """
        levels: tuple[str, ...] = get_args(LoggingLevel)
        if level not in levels:
            raise LocalProtocolError(f"there is no level {level!r}: {', '.join(levels)}")
        if not self._is_modern:
            await self._ask(LOGGING_SET_LEVEL, SetLevelRequestParams(level=level))
        self._log_level = level

    async def notify(self, method: str, params: Mapping[str, Any] | Struct | None = None) -> None:
        """Send the server a notification, also one that only an extension knows.

        Args:
            method: The method.
            params: What it carries, as plain JSON values or as a type of `wigwag.schema`.
        """
        live = await self._connection()
        live.notify(method, params)
        await live.drain()

    async def send_roots_list_changed(self) -> None:
        """Tell a legacy server that the roots have changed; a modern one asks anew anyway."""
        if not self._is_modern:
            await self.notify(NOTIFICATIONS_ROOTS_LIST_CHANGED)

    @asynccontextmanager
    async def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Sequence[str] = (),
        **members: Unpack[FilterMembers],
    ) -> AsyncIterator[Changes]:
        """Listen for changes, in whichever way the server's era has for it.

        With `restart`, a server that was started anew is listened to anew; assume then that you
        missed something.

        Args:
            tools: Changes of the list of tools.
            prompts: Changes of the list of prompts.
            resources: Changes of the list of resources.
            uris: Changes of these resources.
            members: The same, by the protocol's own names: `tools_list_changed`,
                `prompts_list_changed`, `resources_list_changed` and `resource_subscriptions`.
        """
        if not all(isinstance(on, bool) for on in (tools, prompts, resources)):
            raise TypeError(
                "`tools`, `prompts` and `resources` are True or False; which resources: `uris`"
            )
        uris = [*uris, *members.pop("resource_subscriptions", ())]
        wanted: dict[str, Any] = {
            "tools_list_changed": tools,
            "prompts_list_changed": prompts,
            "resources_list_changed": resources,
            "resource_subscriptions": uris,
            **members,
        }
        changes = Changes(SubscriptionFilter(**{key: on or UNSET for key, on in wanted.items()}))
        if not self._is_modern:
            changes.honored = honored(changes.wanted, self.server_capabilities)
            _check_honored(changes)
        self._listeners.add(changes)
        listening: asyncio.Task[None] | None = None
        try:
            if self._is_modern:
                task = asyncio.get_running_loop().create_task(self._keep_listening(changes))
                listening = task
                await self._acknowledged(changes)
                if changes.failure is not None:
                    raise changes.failure
                _check_honored(changes)
            elif changes.honored.resource_subscriptions is not UNSET:
                for uri in uris:
                    await self.subscribe_resource(uri)
                    changes.subscribed.append(uri)
            yield changes
        finally:
            self._listeners.discard(changes)
            if listening is not None:
                listening.cancel()
            if self._live is not None and self._live.is_open:
                for uri in changes.subscribed:
                    await self.unsubscribe_resource(uri)

    def _note_lost(self, reason: Exception) -> None:
        """Let those who listen in a legacy session go on in a new one, or learn that it is over."""
        # Modern ones have a request that fails by itself.
        if not self._listeners or not self._is_wanted or self._is_modern:
            return
        if self._restart or isinstance(reason, SessionLost):
            self._callbacks.call(self._listen_anew)
        else:
            for changes in self._listeners:
                changes.end(reason)

    async def _listen_anew(self) -> None:
        try:
            await self._connection(reopen=True)
        except McpError as error:
            for changes in self._listeners:
                changes.end(error)

    async def _acknowledged(self, changes: Changes) -> None:
        limit = self._timeouts.request
        try:
            await asyncio.wait_for(changes.acknowledged.wait(), limit)
        except TimeoutError:
            why = f"{limit:g} s without an acknowledgement"
            raise RequestTimedOut(SUBSCRIPTIONS_LISTEN, limit, why) from None

    async def _keep_listening(self, changes: Changes) -> None:
        params = SubscriptionsListenRequestParams(notifications=changes.wanted)

        def note_id(request: OutgoingRequest) -> None:
            changes.subscription_id = request.id

        tries = 0
        while True:
            reason: Exception | None = None
            changes.is_open = False
            try:
                live = await self._connection()
                await live.request(SUBSCRIPTIONS_LISTEN, params, on_sent=note_id)
            except Exception as error:  # noqa: BLE001 - raised where the changes are read
                reason = error
            tries = 0 if changes.is_open else tries + 1
            may_retry = self._restart and self._is_wanted and tries < MAX_LISTEN_TRIES
            if not (may_retry and is_worth_retrying(reason)):
                changes.end(reason)
                return
            # At once after a stream that was of use; then a server that starts anew gets time.
            await asyncio.sleep(2.0 ** (tries - 2) if tries else 0.0)

    # --- tasks of 2025-11-25

    async def call_tool_as_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: int | None = None,
    ) -> CreateTaskResult:
        """Call a tool as a task of revision 2025-11-25, and return at once.

        Args:
            name: The tool.
            arguments: What it takes.
            ttl: Milliseconds for which the server should keep the result.

        Raises:
            LocalProtocolError: The server did not declare that it runs tools as tasks; it would
                have run the tool at once.
        """
        tasks = self.server_capabilities.tasks
        requests = UNSET if tasks is UNSET else tasks.requests
        tools = UNSET if requests is UNSET else requests.tools
        if tools is UNSET or tools.call is UNSET:
            raise LocalProtocolError("the server did not declare `tasks.requests.tools.call`")
        params = CallToolRequestParams(
            name=name,
            arguments=UNSET if arguments is None else _encode_arguments(arguments),
            task=TaskMetadata(ttl=UNSET if ttl is None else ttl),
        )
        return await self._call(TOOLS_CALL, params, CreateTaskResult)

    async def get_task(self, task_id: str) -> GetTaskResult:
        """Ask how far a task of revision 2025-11-25 has come."""
        return await self._call(TASKS_GET, GetTaskRequestParams(task_id=task_id), GetTaskResult)

    async def get_task_result(self, task_id: str) -> CallToolResult:
        """Wait for the end of a tool's task of revision 2025-11-25, and return its result."""
        params = GetTaskPayloadRequestParams(task_id=task_id)
        raw = await self._ask(TASKS_RESULT, params, timeout=self._timeouts.ceiling)
        result: CallToolResult = self._read(TOOLS_CALL, raw)
        return result

    async def list_tasks(self, *, cursor: str | None = None) -> ListTasksResult:
        """List the tasks of revision 2025-11-25: all of them, or the page of a cursor."""
        return await self._list(TASKS_LIST, ListTasksResult, "tasks", cursor)

    async def cancel_task(self, task_id: str) -> CancelTaskResult:
        """Cancel a task of revision 2025-11-25."""
        params = CancelTaskRequestParams(task_id=task_id)
        return await self._call(TASKS_CANCEL, params, CancelTaskResult)

    # --- lists

    async def _list(self, method: str, result_type: type[R], member: str, cursor: str | None) -> R:
        """Get one page, or all of them as one. Spec: server/utilities/pagination."""
        known = self._known
        if not server_declares(known.capabilities, method, known.revision):
            # It must not be asked, and has none.
            empty: R = msgspec.convert({_wire_name(member): []}, result_type)
            return empty
        if cursor is not None:
            if not isinstance(cursor, str):
                raise LocalProtocolError(
                    f"{cursor!r} is no cursor: there is no next page where `next_cursor` is UNSET, "
                    "so ask `if page.next_cursor is not UNSET`"
                )
            return await self._page(method, cursor, result_type)
        page: Any = await self._page(method, UNSET, result_type)
        if page.next_cursor is UNSET:
            result: R = page
            return result
        items = list(getattr(page, member))
        async for page in self._pages_after(page, method, result_type, member):  # noqa: B020
            items += getattr(page, member)
        whole: R = msgspec.structs.replace(page, **{member: items, "next_cursor": UNSET})
        return whole

    async def _pages(self, method: str, result_type: type[R], member: str) -> AsyncIterator[R]:
        """Get one page after the other."""
        known = self._known
        if not server_declares(known.capabilities, method, known.revision):
            return
        page: Any = await self._page(method, UNSET, result_type)
        yield page
        async for page in self._pages_after(page, method, result_type, member):  # noqa: B020
            yield page

    async def _pages_after(
        self, page: Any, method: str, result_type: type[Any], member: str
    ) -> AsyncIterator[Any]:
        """Get the pages after one; what a server gives that goes round in circles, but once."""
        before: dict[str, list[Any]] = {}  # what was on the page that gave the cursor
        # Any cursor counts, the empty one too.
        while (cursor := page.next_cursor) is not UNSET:
            if len(before) >= MAX_PAGES:
                raise RemoteProtocolError(f"{method} has more than {MAX_PAGES} pages")
            before[cursor] = getattr(page, member)
            page = await self._page(method, cursor, result_type)
            if page.next_cursor in before:  # it would go on for ever
                _logger.warning(
                    "the server gave the cursor %r twice: %s ends here", page.next_cursor, method
                )
                items = getattr(page, member)
                # Whoever takes no notice of cursors has given the same page again.
                fresh = [] if items == before[page.next_cursor] else items
                page = msgspec.structs.replace(page, **{member: fresh, "next_cursor": UNSET})
            yield page

    async def _page(self, method: str, cursor: str | UnsetType, result_type: type[R]) -> R:
        return await self._call(method, PaginatedRequestParams(cursor=cursor), result_type)

    # --- what the server says of its own accord

    def _who(self) -> str:
        # A legacy server may ask before the client has taken note of the handshake.
        info = None if self._connected is None else self.server_info
        name = "A server" if info is None else info.title or info.name
        return f"{name} ({self._opener.name})"

    async def _answer(self, request: RequestReceived) -> Struct:
        return await self._answers.answer(request.method, request.params)

    def _note(self, event: NotificationReceived) -> None:
        for changes in list(self._listeners):
            changes.offer(event)
        if event.method == NOTIFICATIONS_TOOLS_LIST_CHANGED:
            self._output_schemas.doubt()
        if event.method == NOTIFICATIONS_MESSAGE and self._on_log is not None:
            self._callbacks.call(self._on_log, event.params)
        if self._on_notification is not None:
            self._callbacks.call(self._on_notification, event.method, event.params)


def _check_honored(changes: Changes) -> None:
    if changes.honored == SubscriptionFilter():
        raise LocalProtocolError("the server does not report any of these changes")


def _wire_name(member: str) -> str:
    head, *rest = member.split("_")
    return head + "".join(map(str.capitalize, rest))


def _mode_of(mode: str, revision: str | None) -> str:
    """Return the mode that a client is in, given one or a revision to insist on."""
    if revision is None:
        return mode
    if mode not in ("auto", revision):
        raise ValueError(f"`mode` is {mode!r} and `revision` is {revision!r}: give one of them")
    if revision not in REVISIONS:
        known = ", ".join(REVISIONS)
        raise ValueError(f"there is no revision {revision!r}: choose one of {known}")
    return revision


def _revisions_of(mode: str) -> tuple[str, ...]:
    match mode:
        case "auto":
            return REVISIONS
        case "modern":
            return MODERN_REVISIONS
        case "legacy":
            return LEGACY_REVISIONS
        case _ if mode in REVISIONS:
            return (mode,)
    known = ", ".join(("auto", "modern", "legacy", *REVISIONS))
    raise ValueError(f"there is no mode {mode!r}: choose one of {known}")


def _type_name(type_: Any) -> str:
    return type_.__name__ if type(type_) is type else str(type_)


def _has_meta(params: Struct | None) -> bool:
    return getattr(params, "meta", UNSET) is not UNSET


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


def _encode_arguments(arguments: Mapping[str, Any]) -> Raw:
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise LocalProtocolError(f"the arguments of a tool are a mapping, not {kind}")
    return Raw(encode_value(dict(arguments)))
