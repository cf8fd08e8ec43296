"""The public `Client`: connects to any server of any era and speaks its revision.

Spec: client
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, Unpack, get_args, overload

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from wigwag._version import __version__
from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.client.asking import Asking
from wigwag.client.eras import HTTP_SSE, EraCache, eras_of_this_process
from wigwag.client.events import Events, OnEvent
from wigwag.client.following import FollowedCall
from wigwag.client.healing import Healing, Pauses
from wigwag.client.known_tools import KnownTools
from wigwag.client.link import Link, Reactions, Timeouts
from wigwag.client.listeners import Listeners
from wigwag.client.listening import Changes, FilterMembers
from wigwag.client.pages import Pages
from wigwag.client.questions import AnswerElicitation, Answers, AnswerSampling, Roots
from wigwag.client.resending import Resending
from wigwag.client.response_cache import CacheInfo, cache_of
from wigwag.client.rounds import CallOptions, InputAnswer, RequestOptions, with_answers
from wigwag.client.targets import opener_for
from wigwag.client.tool_results import ToolCallResult, data_of
from wigwag.client.watching import WatchedList, Watching
from wigwag.errors import (
    InvalidResult,
    LocalProtocolError,
    ToolFailed,
)
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.client import ClientDescription
from wigwag.protocol.events import NotificationReceived, RequestReceived
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.callbacks import Callbacks
from wigwag.runtime.client_connection import ClientConnection, OnProgress
from wigwag.schema import (
    COMPLETION_COMPLETE,
    LEGACY_REVISIONS,
    LOGGING_SET_LEVEL,
    MODERN_REVISIONS,
    NOTIFICATIONS_MESSAGE,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_ROOTS_LIST_CHANGED,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PING,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES_LIST,
    REVISIONS,
    SERVER_DISCOVER,
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
    Prompt,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplateReference,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscriptionFilter,
    TaskMetadata,
    Tool,
)
from wigwag.transports.stdio_client import OnStderr

if TYPE_CHECKING:  # not every client needs them
    from wigwag.client.authorization.authorizer import AuthorizationNews, ClientAuthorizer
    from wigwag.client.authorization.choosing import Auth
    from wigwag.client.cache_policy import CachePolicy
    from wigwag.client.callback_names import CallbackNames
    from wigwag.client.middleware import ClientMiddleware, Passage
    from wigwag.runtime.middleware import MiddlewareList
    from wigwag.stores.contract import CacheStore
    from wigwag.transports.http_client_engine import TLS, Headers

_logger = logging.getLogger("wigwag.client")

R = TypeVar("R")
P = TypeVar("P", bound=InputResponseRequestParams)

OnLog = Callable[[LoggingMessageNotificationParams], object]
OnNotification = Callable[[str, Any], object]

LISTS: Final = (TOOLS_LIST, PROMPTS_LIST, RESOURCES_LIST, RESOURCES_TEMPLATES_LIST)

# Before, there was no structured content.
STRUCTURED_SINCE: Final = "2025-06-18"


class Client:
    """A client of one MCP server, of whatever era.

    Use it as `async with Client(target) as client:`, or call `connect` and `close`, from whatever
    tasks, as often as you like. All methods that ask the server raise the same few exceptions:

    - `RequestFailed`: it answered with an error.
    - `RequestTimedOut`: it did not answer in time.
    - `ConnectionClosed`: it has gone, or was never there.
    - `RemoteProtocolError`: what it answered makes no sense.
    - `LocalProtocolError`: it cannot be asked this; nothing was sent.
    - `AuthorizationFailed` and its kinds, only with `auth`: there is no token for it.

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
        on_tools_changed: Called with all tools, as they are now, when the list of them has changed.
            This and the following may be `async`; changes that come close together are told once.
        on_prompts_changed: The same, with all prompts.
        on_resources_changed: The same, with all resources; the templates may have changed, too.
        on_resource_updated: Called with the URI of each resource that has changed, of those that
            `subscribe_resource` was called for.
        timeouts: How long it waits.
        heal: What the client puts right by itself when a connection breaks: by default everything
            that `Healing` names; a `Healing` with parts of it turned off; or `False` for nothing.
        restart: The same as `Healing.restart`, which it overrides: whether a server that has died
            is started anew, or a connection opened anew, when something is next asked.
        on_event: Called with a `ClientEvent` each time the client has put something right; it may
            be `async`.
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
        auth: How requests to a URL are authorized: `"oauth"` lets the user log in, in a browser,
            when the server wants that, and keeps the tokens; an `OAuth`, which has options for it;
            `ClientCredentials`, `WorkloadIdentity` or `EnterpriseManaged` for machines; a token, as
            a text or `BearerToken`; an `ApiKey`; or a function, called for each request, that
            returns a token or headers and may be `async`. What is not obtained is an
            `AuthorizationFailed`. While the user logs in no timeout counts.
        era_cache: Where it is kept which era a server is of, so that another client need not find
            out: a mapping of yours, which you may store. By default it is that of URLs alone, and
            lasts as long as this process. What proves wrong is found out anew.
        prior_discover: What `client.discovered` was in an earlier connection to the same server:
            connecting then asks nothing. When the server proves to be otherwise, it is asked.
        cache: Whether lists, resources and what `discover` returns are kept for as long as the
            server allows it: `True`, in memory; a `CachePolicy`, or a store that others have, too;
            or `False`.
        lazy: Connect when something is first asked, not before: neither `connect` nor `async with`
            is needed for that, but `close` is.
        middleware: What is put around requests and notifications, both ways, outermost first.
        callbacks: `sampling_callback`, `elicitation_callback`, `list_roots_callback` and
            `logging_callback`, as the official SDK has them: the first three get the client before
            what they are asked, and `elicitation_callback` is asked for pages, too.
    """

    def __init__(  # noqa: PLR0913, PLR0915 - each is a keyword of its own, and most are never given
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
        on_tools_changed: Callable[[list[Tool]], object] | None = None,
        on_prompts_changed: Callable[[list[Prompt]], object] | None = None,
        on_resources_changed: Callable[[list[Resource]], object] | None = None,
        on_resource_updated: Callable[[str], object] | None = None,
        timeouts: Timeouts | None = None,
        heal: bool | Healing = True,
        restart: bool | None = None,
        on_event: OnEvent | None = None,
        max_message_bytes: int = DEFAULT_MAX_LINE_BYTES,
        headers: Headers | None = None,
        ssl: TLS | None = None,
        http_client: Any = None,
        auth: Auth | None = None,
        era_cache: EraCache | None = None,
        prior_discover: DiscoverResult | None = None,
        cache: bool | CacheStore | CachePolicy = True,
        lazy: bool = False,
        middleware: Sequence[ClientMiddleware] = (),
        **callbacks: Unpack[CallbackNames],
    ) -> None:
        if callbacks:
            from wigwag.client.callback_names import by_own_names  # noqa: PLC0415 - few use them

            own = by_own_names(callbacks, self)
            sampling, elicitation = sampling or own.sampling, elicitation or own.elicitation
            roots = own.roots if roots is None else roots
            capabilities, on_log = capabilities or own.capabilities, on_log or own.on_log
        mode = _mode_of(mode, revision)
        opener = opener_for(
            target,
            env=env,
            cwd=cwd,
            on_stderr=on_stderr,
            max_message_bytes=max_message_bytes,
            headers=headers,
            ssl=ssl,
            http_client=http_client,
            auth=auth,
            client_name=None if info is None else info.title or info.name,
        )
        capabilities = _with_extensions(capabilities, opener.auth)
        events = Events(opener.name, on_event)
        answers = Answers(
            sampling=sampling,
            elicitation=elicitation,
            roots=roots,
            capabilities=capabilities,
            who=self._who,
        )
        self._answers = answers
        self._auth = opener.auth
        if opener.auth is not None:
            opener.auth.tell = self._note_authorization
        eras: EraCache = {}
        if opener.is_http_sse and opener.url is not None:  # it was said to be so
            eras = {opener.url: HTTP_SSE}
        elif mode == "auto":  # else it would not be the whole truth
            if era_cache is not None and opener.key is not None:
                eras = era_cache
            elif opener.url is not None:
                eras = eras_of_this_process
        if prior_discover is not None and not isinstance(prior_discover, DiscoverResult):
            raise TypeError(
                "`prior_discover` is a DiscoverResult: `msgspec.json.decode(stored, "
                "type=DiscoverResult)` makes one of what was stored"
            )
        timeouts = timeouts or Timeouts()
        self._timeouts = timeouts
        self._link = Link(
            opener,
            ClientDescription(
                info=info or Implementation(name="wigwag", version=__version__),
                capabilities=answers.capabilities,
                revisions=_revisions_of(mode),
            ),
            timeouts,
            eras=eras,
            prior=prior_discover,
            is_lazy=lazy,
            healing=Healing.of(heal, restart=restart),
            reactions=Reactions(
                self._answer, self._note, self._note_lost, self._prepare, self._note_resumed
            ),
        )
        self._events = events
        self._pauses = pauses = Pauses()
        self._tools = KnownTools(self._link)
        resending = Resending(self._link, self._tools, events, pauses)
        self._cache = cache_of(
            cache,
            url=opener.whole_url,
            name=opener.name,
            headers=headers,
            http_client=http_client,
            auth=opener.auth,
        )
        self._asking = Asking(
            self._link, resending, answers, timeouts, self._list_tools_anew, self._cache
        )
        self._pages = Pages(self._link, self._asking)
        self._listeners = Listeners(
            self._link, self._asking, timeouts, events, pauses, on_missed=self._note_missed
        )
        changed = (on_tools_changed, on_prompts_changed, on_resources_changed)
        self._watching = Watching(
            self._link, self._listeners, self._watched(*changed), on_resource_updated
        )
        self._on_log, self._on_notification = on_log, on_notification
        self._callbacks = Callbacks()
        self._depth = 0  # of `async with`
        self._passage: Passage | None = None
        for step in middleware:
            self.middleware.append(step)
        self._is_lazy = lazy

    # --- connecting

    async def connect(self) -> Self:
        """Open the connection and find out what the server speaks; does nothing when it is open.

        Raises:
            ServerStartFailed: A server process could not be started, or ended at once.
            ConnectionClosed: The connection ended meanwhile.
            HttpStatusError: An HTTP server refused; 401 and 403 mean that it wants credentials.
            AuthorizationFailed: There are none, though `auth` says how to get them.
            ServerUnreachable: There is no HTTP server.
            TransportError: Nobody can be reached there.
            NotMcp: What answers is no MCP server.
            RemoteProtocolError: There is no revision that both speak.
            RequestFailed: The server refused.
        """
        await self._link.connect()
        return self

    async def close(self) -> None:
        """Close the connection; a server process is ended. May be called twice, by any task.

        Requests still under way fail with `ConnectionClosed`.
        """
        self._pauses.end()
        if self._cache is not None:
            self._cache.closing()
        try:
            await self._link.close()
        finally:
            await self._watching.close()
            if self._auth is not None:
                await self._auth.aclose()
            if self._cache is not None:
                await self._cache.closed()

    async def __aenter__(self) -> Self:
        """Connect, unless `lazy` leaves that to the first request."""
        self._depth += 1
        try:
            if self._is_lazy:
                self._link.want()
                return self
            return await self.connect()
        except BaseException:  # also when cancelled: nobody would close what is being opened
            await self.__aexit__()
            raise

    async def __aexit__(self, *exc: object) -> None:
        """Close, when nobody else has entered."""
        self._depth -= 1
        if self._depth == 0:
            await self.close()

    def __repr__(self) -> str:
        """What it is a client of, and whether it is connected."""
        state = "connected" if self.is_connected else "not connected"
        return f"<Client of {self._link.name}, {state}>"

    @property
    def is_connected(self) -> bool:
        """Whether the connection is open, as far as is known."""
        return self._link.is_open

    @property
    def protocol_version(self) -> str:
        """The revision that is spoken, for example `2026-07-28`."""
        return self._link.known.revision

    @property
    def revision(self) -> str:
        """The same as `protocol_version`."""
        return self._link.known.revision

    @property
    def server_info(self) -> Implementation | None:
        """What the server calls itself, if it says so. Nobody vouches for it: display only."""
        info = self._link.known.server_info
        return None if info is UNSET else info

    @property
    def server_capabilities(self) -> ServerCapabilities:
        """What the server declared that it offers."""
        return self._link.known.capabilities

    @property
    def capabilities(self) -> ServerCapabilities:
        """The same as `server_capabilities`."""
        return self._link.known.capabilities

    @property
    def instructions(self) -> str | None:
        """What the server wants the model to know."""
        text = self._link.known.instructions
        return None if text is UNSET else text

    @property
    def discovered(self) -> DiscoverResult | None:
        """What a modern server said when it was asked, for `prior_discover` of another client.

        It can be stored: `msgspec.json.encode` and `decode(data, type=DiscoverResult)`. `None` for
        a legacy server, which has to be greeted each time.
        """
        return self._link.known.discovered

    @property
    def middleware(self) -> MiddlewareList[ClientMiddleware]:
        """What is put around what is asked and told, both ways: a list, or a decorator.

        A middleware is an async function of a `ClientContext` and of what comes next, and runs on
        the client's event loop. It returns what `await call_next(context)` returns, the result of a
        request, or another one; or raises. What the protocol does by itself does not pass through
        it: the handshake, cancellations, and the requests that last as long as somebody listens.
        """
        if self._passage is None:
            from wigwag.client.middleware import Passage  # noqa: PLC0415 - few have any

            self._passage = Passage(self, self._asking, self._rewire)
        return self._passage.steps

    def _rewire(self) -> None:
        """Let messages pass through the middleware, if there is any."""
        passage = self._passage
        if passage is not None and passage.steps:
            self._asking.around, self._answers.around = passage.ask, passage.answer
        else:
            self._asking.around = self._answers.around = None

    async def _prepare(self, live: ClientConnection, lost: Exception | None) -> None:
        """Tell a new connection what an earlier one was told to remember, and of the new one."""
        if lost is not None:
            self._events.tell_reopened(lost, is_process=self._link.is_process)
        self._tools.use(live)
        if self._cache is not None:
            self._cache.connected(self._link.known.revision, self._answers.capabilities)
        self._watching.resume()
        if self._link.is_modern:
            return
        if self._asking.log_level is not None:
            params = SetLevelRequestParams(level=self._asking.log_level)
            await live.request(LOGGING_SET_LEVEL, params, idle_timeout=self._timeouts.request)
        await self._listeners.restore(live, lost)

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
        raw = await self._asking.ask(
            method, params, timeout=timeout, on_progress=on_progress, meta=meta
        )
        try:
            return msgspec.json.decode(raw, type=result_type or Any)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidResult(
                f"the result of {method} is not what was expected: {error}"
            ) from None

    # --- tools

    async def list_tools(
        self, *, cursor: str | None = None, refresh: bool = False
    ) -> ListToolsResult:
        """List the server's tools: all of them, or the page of a cursor. Spec: server/tools.

        Over HTTP a modern server may want arguments repeated in headers. A tool that says so in a
        way that breaks the rules cannot be called; it is left out, and the log says why.

        Args:
            cursor: The `next_cursor` of the page before.
            refresh: Whether the server is asked even if the list may still be kept.
        """
        listed = await self._pages.list(
            TOOLS_LIST, ListToolsResult, "tools", cursor, refresh=refresh
        )
        return self._tools.noted(listed)

    async def tool_pages(self, *, refresh: bool = False) -> AsyncIterator[ListToolsResult]:
        """List the server's tools page by page, for example `async for page in …`."""
        async for page in self._pages.pages(TOOLS_LIST, ListToolsResult, "tools", refresh=refresh):
            yield self._tools.noted(page)

    async def _list_tools_anew(self) -> ListToolsResult:
        return await self.list_tools(refresh=True)

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
        allow_input_required: Literal[False] = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
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
        allow_input_required: Literal[False] = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
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
        allow_input_required: Literal[False] = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> ToolCallResult[R | None]: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: None = None,
        raise_on_error: bool = False,
        allow_input_required: bool,
        **options: Unpack[CallOptions],
    ) -> ToolCallResult[Any] | InputRequiredResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: Literal[True],
        allow_input_required: bool,
        **options: Unpack[CallOptions],
    ) -> ToolCallResult[R] | InputRequiredResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: bool = False,
        allow_input_required: bool,
        **options: Unpack[CallOptions],
    ) -> ToolCallResult[R | None] | InputRequiredResult: ...

    async def call_tool(  # noqa: PLR0913 - as `__init__`
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
        allow_input_required: bool = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> ToolCallResult[Any] | InputRequiredResult:
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
            allow_input_required: Whether to return what a modern server asks for, an
                `InputRequiredResult`, in place of answering it. Legacy servers ask by requests of
                their own, which are answered in any case.
            input_responses: The answers to what it has asked for, under the keys of its questions.
            request_state: The state that it has asked with.

        Raises:
            ToolFailed: The tool failed, and `raise_on_error` is set.
            InvalidResult: The output fits neither its schema nor `result_type`, or is no result.
        """
        encoded = UNSET if arguments is None else _encode_arguments(arguments)
        params = CallToolRequestParams(name=name, arguments=encoded)
        if input_responses is not None or request_state is not None:
            params = await self._continued(params, input_responses, request_state)
        # As `call_for_raw`, without its share of the time: nothing is called as often as tools.
        asking = self._asking
        raw = await asking.ask(
            TOOLS_CALL, params, timeout=timeout, on_progress=on_progress, meta=meta
        )
        either = asking.read_either(TOOLS_CALL, raw, CallToolResult)
        if not isinstance(either, InputRequiredResult):
            result = either
        elif allow_input_required:
            return either
        else:
            result, raw = await asking.go_on(
                TOOLS_CALL,
                params,
                either,
                CallToolResult,
                timeout=timeout,
                on_progress=on_progress,
                meta=meta,
            )
        if result.is_error:
            failed: ToolCallResult[Any] = ToolCallResult.of(result, None, raw)
            if raise_on_error:
                raise ToolFailed(result.text or f"the tool {name!r} failed", failed)
            return failed
        if check_output:
            self._check_output(name, result)
        is_wrapped = self._tools.output_schemas.is_wrapping(name)
        try:
            data = data_of(result, result_type, is_wrapped=is_wrapped)
        except ValueError as error:
            raise InvalidResult(
                f"the output of the tool {name!r} is no {_type_name(result_type)}: {error}"
            ) from None
        return ToolCallResult.of(result, data, raw)

    async def _continued(
        self,
        params: P,
        input_responses: Mapping[str, InputAnswer] | None,
        request_state: str | UnsetType | None,
    ) -> P:
        await self._link.acquaint()
        return with_answers(params, input_responses, request_state, self._link.known.revision)

    @overload
    def follow_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: None = None,
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> FollowedCall[ToolCallResult[Any]]: ...

    @overload
    def follow_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: Literal[True],
        check_output: bool = True,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> FollowedCall[ToolCallResult[R]]: ...

    @overload
    def follow_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[R],
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> FollowedCall[ToolCallResult[R | None]]: ...

    def follow_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        result_type: type[Any] | None = None,
        raise_on_error: bool = False,
        check_output: bool = True,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> FollowedCall[Any]:
        """Call a tool, and follow its progress.

        Use it as `async with client.follow_tool(…) as call:`; then `async for progress in call`
        ends with the call, and `await call.result()` is what `call_tool` returns or raises. Leaving
        the block before cancels the call.

        Args:
            name: The tool.
            arguments: What it takes.
            result_type: As for `call_tool`, like the following.
            raise_on_error: Whether `result()` of a tool that fails raises.
            check_output: Whether the output is held to the output schema of the tool.
            timeout: Seconds to wait for an answer or a sign of progress.
            meta: More members for `_meta`.
        """

        async def call(on_progress: OnProgress) -> Any:
            return await self.call_tool(
                name,
                arguments,
                result_type=result_type,
                raise_on_error=raise_on_error,
                check_output=check_output,
                timeout=timeout,
                on_progress=on_progress,
                meta=meta,
            )

        return FollowedCall(name, call)

    def _check_output(self, name: str, result: CallToolResult) -> None:
        problem = self._tools.output_schemas.problem_of(
            name,
            result.structured_content,
            may_lack=self.protocol_version < STRUCTURED_SINCE,
        )
        if problem is not None:
            raise InvalidResult(
                f"the output of the tool {name!r} does not fit its output schema: {problem} "
                "(`check_output=False` takes it as it is)"
            )

    # --- resources

    async def list_resources(
        self, *, cursor: str | None = None, refresh: bool = False
    ) -> ListResourcesResult:
        """List the server's resources: all of them, or the page of a cursor; see `list_tools`."""
        return await self._pages.list(
            RESOURCES_LIST, ListResourcesResult, "resources", cursor, refresh=refresh
        )

    def resource_pages(self, *, refresh: bool = False) -> AsyncIterator[ListResourcesResult]:
        """List the server's resources page by page."""
        return self._pages.pages(RESOURCES_LIST, ListResourcesResult, "resources", refresh=refresh)

    async def list_resource_templates(
        self, *, cursor: str | None = None, refresh: bool = False
    ) -> ListResourceTemplatesResult:
        """List the server's resource templates: all of them, or the page of a cursor."""
        return await self._pages.list(
            RESOURCES_TEMPLATES_LIST,
            ListResourceTemplatesResult,
            "resource_templates",
            cursor,
            refresh=refresh,
        )

    def resource_template_pages(
        self, *, refresh: bool = False
    ) -> AsyncIterator[ListResourceTemplatesResult]:
        """List the server's resource templates page by page."""
        return self._pages.pages(
            RESOURCES_TEMPLATES_LIST,
            ListResourceTemplatesResult,
            "resource_templates",
            refresh=refresh,
        )

    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        refresh: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        allow_input_required: Literal[False] = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> ReadResourceResult: ...

    @overload
    async def read_resource(
        self,
        uri: str,
        *,
        refresh: bool = False,
        allow_input_required: bool,
        **options: Unpack[RequestOptions],
    ) -> ReadResourceResult | InputRequiredResult: ...

    async def read_resource(
        self,
        uri: str,
        *,
        refresh: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        allow_input_required: bool = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> ReadResourceResult | InputRequiredResult:
        """Read a resource. Spec: server/resources#reading-resources.

        Args:
            uri: Which one.
            refresh: Whether the server is asked even if what it holds may still be kept. It is so
                in any case with one of the following but `timeout`.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
            allow_input_required: As for `call_tool`, like the following.
            input_responses: The answers to what a modern server has asked for.
            request_state: The state that it has asked with.
        """
        params = ReadResourceRequestParams(uri=uri)
        if input_responses is not None or request_state is not None:
            params = await self._continued(params, input_responses, request_state)
        elif on_progress is None and meta is None and not allow_input_required:
            return await self._asking.look(
                RESOURCES_READ,
                params,
                ReadResourceResult,
                uri=uri,
                refresh=refresh,
                timeout=timeout,
            )
        ask = self._asking.call_once if allow_input_required else self._asking.call_for_raw
        result, _ = await ask(
            RESOURCES_READ,
            params,
            ReadResourceResult,
            timeout=timeout,
            on_progress=on_progress,
            meta=meta,
        )
        return result

    async def subscribe_resource(self, uri: str) -> None:
        """Have `on_resource_updated` and `on_notification` told when a resource changes.

        That lasts until `unsubscribe_resource`, on whatever connection there is. The resource may
        be one of several; `listen` reports changes of some for as long as a block lasts.

        Raises:
            LocalProtocolError: The server does not report its changes.
        """
        await self._watching.subscribe(uri)

    async def unsubscribe_resource(self, uri: str) -> None:
        """Undo `subscribe_resource`; does nothing where that was not called."""
        await self._watching.unsubscribe(uri)

    # --- prompts and completion

    async def list_prompts(
        self, *, cursor: str | None = None, refresh: bool = False
    ) -> ListPromptsResult:
        """List the server's prompts: all of them, or the page of a cursor; see `list_tools`."""
        return await self._pages.list(
            PROMPTS_LIST, ListPromptsResult, "prompts", cursor, refresh=refresh
        )

    def prompt_pages(self, *, refresh: bool = False) -> AsyncIterator[ListPromptsResult]:
        """List the server's prompts page by page."""
        return self._pages.pages(PROMPTS_LIST, ListPromptsResult, "prompts", refresh=refresh)

    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        allow_input_required: Literal[False] = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> GetPromptResult: ...

    @overload
    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        allow_input_required: bool,
        **options: Unpack[RequestOptions],
    ) -> GetPromptResult | InputRequiredResult: ...

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        on_progress: OnProgress | None = None,
        meta: Mapping[str, Any] | None = None,
        allow_input_required: bool = False,
        input_responses: Mapping[str, InputAnswer] | None = None,
        request_state: str | UnsetType | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Get a prompt's messages. Spec: server/prompts#getting-a-prompt.

        Args:
            name: The prompt.
            arguments: What it takes.
            timeout: Seconds to wait for an answer or a sign of progress.
            on_progress: Called with each sign of progress.
            meta: More members for `_meta`.
            allow_input_required: As for `call_tool`, like the following.
            input_responses: The answers to what a modern server has asked for.
            request_state: The state that it has asked with.
        """
        params = GetPromptRequestParams(
            name=name, arguments=UNSET if arguments is None else dict(arguments)
        )
        if input_responses is not None or request_state is not None:
            params = await self._continued(params, input_responses, request_state)
        ask = self._asking.call_once if allow_input_required else self._asking.call_for_raw
        result, _ = await ask(
            PROMPTS_GET,
            params,
            GetPromptResult,
            timeout=timeout,
            on_progress=on_progress,
            meta=meta,
        )
        return result

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
        return await self._asking.call(COMPLETION_COMPLETE, params, CompleteResult)

    # --- the session and the server itself

    async def ping(self) -> None:
        """See whether the server answers, in whichever way its era has for it."""
        await self._link.acquaint()
        await self._asking.ask(SERVER_DISCOVER if self._link.is_modern else PING, None)

    async def discover(self, *, refresh: bool = False) -> DiscoverResult:
        """Ask a modern server what it is and can do. Spec: server/discover.

        Args:
            refresh: Whether it is asked even if what it said before may still be kept.
        """
        return await self._asking.look(SERVER_DISCOVER, None, DiscoverResult, refresh=refresh)

    def cache_info(self) -> CacheInfo:
        """Tell how often a list, a resource or `discover` was answered without the server."""
        return CacheInfo(0, 0, 0, 0) if self._cache is None else self._cache.info

    async def set_logging_level(self, level: LoggingLevel) -> None:
        """Ask for log messages of this level and above, from now on.

        A legacy server is told once; a modern one with every request.

        Raises:
            LocalProtocolError: There is no such level.
        """
        levels: tuple[str, ...] = get_args(LoggingLevel)
        if level not in levels:
            raise LocalProtocolError(f"there is no level {level!r}: {', '.join(levels)}")
        await self._link.acquaint()
        if not self._link.is_modern:
            await self._asking.ask(LOGGING_SET_LEVEL, SetLevelRequestParams(level=level))
        self._asking.log_level = level

    async def notify(self, method: str, params: Mapping[str, Any] | Struct | None = None) -> None:
        """Send the server a notification, also one that only an extension knows.

        Args:
            method: The method.
            params: What it carries, as plain JSON values or as a type of `wigwag.schema`.
        """
        if self._passage is not None and self._passage.steps:
            await self._passage.notify(self._send_notification, method, params)
        else:
            await self._send_notification(method, params)

    async def _send_notification(self, method: str, params: Any) -> None:
        live = await self._link.get()
        live.notify(method, params)
        await live.drain()

    async def send_roots_list_changed(self) -> None:
        """Tell a legacy server that the roots have changed; a modern one asks anew anyway."""
        await self._link.acquaint()
        if not self._link.is_modern:
            await self.notify(NOTIFICATIONS_ROOTS_LIST_CHANGED)

    def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Sequence[str] = (),
        **members: Unpack[FilterMembers],
    ) -> AbstractAsyncContextManager[Changes]:
        """Listen for changes, in whichever way the server's era has for it: use it as `async with`.

        A subscription that was cut is opened again. As something may have been missed then, one
        change of everything that is listened for is reported.

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
        filter_ = SubscriptionFilter(**{key: on or UNSET for key, on in wanted.items()})
        return self._listeners.listen(filter_)

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
        await self._link.acquaint()
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
        return await self._asking.call(TOOLS_CALL, params, CreateTaskResult)

    async def get_task(self, task_id: str) -> GetTaskResult:
        """Ask how far a task of revision 2025-11-25 has come."""
        return await self._asking.call(
            TASKS_GET, GetTaskRequestParams(task_id=task_id), GetTaskResult
        )

    async def get_task_result(self, task_id: str) -> CallToolResult:
        """Wait for the end of a tool's task of revision 2025-11-25, and return its result."""
        params = GetTaskPayloadRequestParams(task_id=task_id)
        raw = await self._asking.ask(TASKS_RESULT, params, timeout=self._timeouts.ceiling)
        result: CallToolResult = self._asking.read(TOOLS_CALL, raw)
        return result

    async def list_tasks(self, *, cursor: str | None = None) -> ListTasksResult:
        """List the tasks of revision 2025-11-25: all of them, or the page of a cursor."""
        return await self._pages.list(TASKS_LIST, ListTasksResult, "tasks", cursor)

    async def cancel_task(self, task_id: str) -> CancelTaskResult:
        """Cancel a task of revision 2025-11-25."""
        params = CancelTaskRequestParams(task_id=task_id)
        return await self._asking.call(TASKS_CANCEL, params, CancelTaskResult)

    # --- what the server says of its own accord

    def _watched(
        self,
        on_tools: Callable[[list[Tool]], object] | None,
        on_prompts: Callable[[list[Prompt]], object] | None,
        on_resources: Callable[[list[Resource]], object] | None,
    ) -> dict[str, WatchedList]:
        async def tools() -> list[Tool]:
            return (await self.list_tools(refresh=True)).tools

        async def prompts() -> list[Prompt]:
            return (await self.list_prompts(refresh=True)).prompts

        async def resources() -> list[Resource]:
            return (await self.list_resources(refresh=True)).resources

        lists: dict[str, WatchedList] = {}
        if on_tools is not None:
            lists[NOTIFICATIONS_TOOLS_LIST_CHANGED] = WatchedList("tools", tools, on_tools)
        if on_prompts is not None:
            lists[NOTIFICATIONS_PROMPTS_LIST_CHANGED] = WatchedList("prompts", prompts, on_prompts)
        if on_resources is not None:
            watched = WatchedList("resources", resources, on_resources)
            lists[NOTIFICATIONS_RESOURCES_LIST_CHANGED] = watched
        return lists

    def _who(self) -> str:
        # A legacy server may ask before the client has taken note of the handshake.
        info = None if self._link.connected is None else self.server_info
        name = "A server" if info is None else info.title or info.name
        return f"{name} ({self._link.name})"

    async def _answer(self, request: RequestReceived) -> Struct:
        return await self._answers.answer(request.method, request.params)

    def _note(self, event: NotificationReceived) -> None:
        self._note_change(event.method, getattr(event.params, "uri", None))
        if event.method == NOTIFICATIONS_TOOLS_LIST_CHANGED:
            self._tools.doubt()
        passage = self._passage
        is_for_us = event.method == NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED
        if passage is None or not passage.steps or is_for_us:
            self._tell(event)
        else:
            passage.hear(event, self._tell)

    def _tell(self, event: NotificationReceived) -> None:
        self._listeners.offer(event)
        if event.method == NOTIFICATIONS_MESSAGE and self._on_log is not None:
            self._callbacks.call(self._on_log, event.params)
        if self._on_notification is not None:
            self._callbacks.call(self._on_notification, event.method, event.params)

    def _note_change(self, method: str, uri: str | None) -> None:
        cache = self._cache
        if cache is not None and cache.note(method, uri):
            self._callbacks.call(cache.settle)

    def _note_missed(self, change: Change) -> None:
        self._note_change(change.method, change.uri)
        if change.method == NOTIFICATIONS_TOOLS_LIST_CHANGED:
            self._tools.doubt()

    def _note_resumed(self, method: str | None, reason: str, is_whole: bool) -> None:  # noqa: FBT001
        self._events.tell("stream_resumed", reason, method=method)
        if method is None and not is_whole:
            self._listeners.offer_missed()

    def _note_authorization(self, news: AuthorizationNews) -> None:
        self._events.tell(news, None)
        if news == "logged_in" and self._cache is not None:
            # With other scopes, or as somebody else, there may be other things to be seen.
            self._cache.invalidate(*LISTS)

    def _note_lost(self, reason: Exception) -> None:
        self._listeners.note_lost(reason)


def _with_extensions(
    capabilities: ClientCapabilities | None, auth: ClientAuthorizer | None
) -> ClientCapabilities | None:
    """Return capabilities that also declare the extensions which authorization makes use of."""
    if auth is None or not auth.extensions:
        return capabilities
    declared = capabilities or ClientCapabilities()
    known = {} if declared.extensions is UNSET else declared.extensions
    both = {**{name: {} for name in auth.extensions}, **known}
    return msgspec.structs.replace(declared, extensions=both)


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


def _encode_arguments(arguments: Mapping[str, Any]) -> Raw:
    if not isinstance(arguments, Mapping):
        kind = type(arguments).__name__
        raise LocalProtocolError(f"the arguments of a tool are a mapping, not {kind}")
    return Raw(encode_value(dict(arguments)))
