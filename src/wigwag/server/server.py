"""The public `Server`: functions become tools, resources, prompts and completions.

Spec: server
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, Unpack, overload

from msgspec import UNSET, Struct

from wigwag.bindings.lines import DEFAULT_MAX_LINE_BYTES
from wigwag.errors import RequestFailed, TransportError
from wigwag.jsonrpc.codec import encode_value
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import Members, ServerDescription, ServerProtocol
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.dispatch import Dispatch, Handler, Outcome
from wigwag.runtime.failures import without_leaving
from wigwag.runtime.server_connection import ServerConnection
from wigwag.runtime.threads import DEFAULT_WORKER_THREADS, WorkerThreads
from wigwag.schema import (
    COMPLETION_COMPLETE,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCE_NOT_FOUND,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UNSUBSCRIBE,
    REVISIONS,
    TOOLS_CALL,
    TOOLS_LIST,
    CompleteRequestParams,
    Implementation,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptReference,
    PromptsCapability,
    ReadResourceResult,
    Resource,
    ResourcesCapability,
    ResourceTemplate,
    ServerCapabilities,
    Tool,
    ToolAnnotations,
    ToolsCapability,
)
from wigwag.server.completions import Completers
from wigwag.server.context import Context
from wigwag.server.features import (
    Function,
    PromptFeature,
    ResourceFeature,
    ToolFeature,
    prompt_arguments,
)
from wigwag.server.input_required import InputRequired
from wigwag.server.lists import FeatureList
from wigwag.server.results import ToolOutput
from wigwag.server.signature import Parameters

if TYPE_CHECKING:
    from wigwag.server.memory import Keeper
    from wigwag.server.written_schema import WrittenParameters
    from wigwag.transports.contract import Connection

if TYPE_CHECKING:  # what is not needed to import a server
    from wigwag.server.http_app import HttpApp, HttpKeywords
    from wigwag.stores.contract import Stores

MAX_TOOL_NAME_CHARACTERS: Final = 128

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=ServerConnection)
Lifespan = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on what a server takes from its clients and spends on them.

    Attributes:
        max_message_bytes: Longest message accepted. A longer one is refused, by its id if that
            can be read, and the conversation goes on.
        worker_threads: How many plain functions run at the same time; more wait their turn.
        page_size: How many features a page of a list holds; `None` for all of them.
        subscriptions: How many resources a legacy session can subscribe to.
        sessions: How many sessions legacy clients can have open over HTTP.
        session_lifetime: Seconds without a request after which such a session is forgotten.
        streams: How many streams HTTP clients can have open to listen.
        calls: How many requests can be under way: of all clients over HTTP, of each elsewhere.
        events: How many events of a session are kept for a client that lost its connection.
        event_bytes: And how many bytes they have together.
        keep_alive: Seconds after which a silent stream gets a comment, so that no proxy cuts it.
        retry: Seconds after which a client that lost a stream is asked to come back.
        state_bytes: How long the state may become that a modern client carries between the rounds
            of a call: the answers so far, and what `Context.once` remembers.
        state_lifetime: Seconds for which such a state is good.
    """

    max_message_bytes: int = DEFAULT_MAX_LINE_BYTES
    worker_threads: int = DEFAULT_WORKER_THREADS
    page_size: int | None = None
    subscriptions: int = 1000
    sessions: int = 10_000
    session_lifetime: float = 1800.0
    streams: int = 10_000
    calls: int = 10_000
    events: int = 256
    event_bytes: int = 4 * 1024 * 1024
    keep_alive: float = 15.0
    retry: float = 1.0
    state_bytes: int = 1_000_000
    state_lifetime: float = 900.0


class Server:
    """An MCP server: register functions with its decorators, then `run` it.

    >>> server = Server("adder", version="1.0.0")
    >>> @server.tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b

    Type hints are the schema and the docstring is the description. Plain functions run in worker
    threads, `async def` ones on the event loop. One server may serve many clients at once, in every
    revision of the protocol.

    Args:
        name: Its name, for programs; or an `Implementation` that says more about it.
        version: Its version.
        title: Its name, for people.
        instructions: How to use it, for the model.
        lifespan: An async context manager around the time in which the server serves; what it
            yields is `Context.lifespan`.
        revisions: The protocol revisions it serves; all of them unless narrowed.
        limits: Bounds on what it takes and spends.
        state_keys: What seals the state that modern clients carry between the rounds of a call:
            secrets of at least 32 random bytes each. The first one seals, all of them open, so
            that keys can be changed. Servers that stand in for each other need the same ones;
            without any, one is made that ends with the process.

    Raises:
        ValueError: A key is too short, or a revision is unknown.
    """

    def __init__(
        self,
        name: str | Implementation,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | None = None,
        lifespan: Lifespan | None = None,
        revisions: Sequence[str] = REVISIONS,
        limits: Limits | None = None,
        state_keys: Sequence[bytes | str] = (),
    ) -> None:
        if not isinstance(version, str):
            raise TypeError(f"the version is text, as '1.0.0', not {version!r}")
        if isinstance(name, str):
            name = Implementation(name=name, version=version, title=title or UNSET)
        self.info = name
        self.limits = limits or Limits()
        # Made here, as handlers in threads must not each make one.
        self._state_keys = tuple(state_keys) or (os.urandom(32),)
        self._keeper: Keeper | None = None
        if state_keys:
            self.keeper  # noqa: B018 - a key that is no good is to be noticed here
        self.lifespan_value: Any = None
        self._lifespan = lifespan
        self._serving = 0  # how many `running` blocks are open
        self._lifespan_turn = asyncio.Lock()
        self._entered: AbstractAsyncContextManager[Any] | None = None
        self._threads = WorkerThreads(self.limits.worker_threads)
        self._description = ServerDescription(
            self.info,
            instructions=instructions or UNSET,
            revisions=revisions,
            capabilities=self._capabilities,
        )
        self._tools: dict[str, ToolFeature] = {}
        self._resources: dict[str, ResourceFeature] = {}
        self._templates: dict[str, ResourceFeature] = {}
        self._prompts: dict[str, PromptFeature] = {}
        self._completers = Completers(self._threads)
        size = self.limits.page_size
        self._tool_list = FeatureList(
            lambda items, following: ListToolsResult(tools=items, next_cursor=following), size
        )
        self._resource_list = FeatureList(
            lambda items, following: ListResourcesResult(resources=items, next_cursor=following),
            size,
        )
        self._template_list = FeatureList(
            lambda items, following: ListResourceTemplatesResult(
                resource_templates=items, next_cursor=following
            ),
            size,
        )
        self._prompt_list = FeatureList(
            lambda items, following: ListPromptsResult(prompts=items, next_cursor=following), size
        )
        self._handlers: dict[str, Handler] = {
            TOOLS_CALL: self._call_tool,
            TOOLS_LIST: self._list_tools,
            RESOURCES_LIST: self._list_resources,
            RESOURCES_TEMPLATES_LIST: self._list_templates,
            RESOURCES_READ: self._read_resource,
            PROMPTS_LIST: self._list_prompts,
            PROMPTS_GET: self._get_prompt,
            COMPLETION_COMPLETE: self._complete,
            RESOURCES_SUBSCRIBE: self._subscribe,
            RESOURCES_UNSUBSCRIBE: self._unsubscribe,
        }
        self._listeners: list[Callable[[Change], None]] = []
        self._declared: set[str] = set()  # the features that there are, or have been

    def __repr__(self) -> str:
        """The name and version."""
        return f"<Server {self.info.name} {self.info.version}>"

    @property
    def max_message_bytes(self) -> int:
        """Longest message accepted from a client."""
        return self.limits.max_message_bytes

    @property
    def instructions(self) -> str | None:
        """How to use the server, for the model."""
        text = self._description.instructions
        return None if text is UNSET else text

    @property
    def keeper(self) -> Keeper:
        """What keeps the memory of calls between their rounds."""
        if self._keeper is None:
            # Only a server that asks its clients needs this.
            from wigwag.server.memory import Keeper  # noqa: PLC0415
            from wigwag.server.sealing import Seal  # noqa: PLC0415

            limits, seal = self.limits, Seal(self._state_keys)
            self._keeper = Keeper(seal, self.info.name, limits.state_lifetime, limits.state_bytes)
        return self._keeper

    # --- registering

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        name: str | None = None,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        timeout: float | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        timeout: float | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...

    def tool(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        function: F | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        timeout: float | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> F | Callable[[F], F]:
        """Register a function as a tool; used as a decorator, bare or called.

        Args:
            function: The function; or the tool's name, unless that is the function's own.
            name: The tool's name, in another place.
            title: Its name, for people.
            description: What it does, for the model; by default the function's docstring.
            input_schema: The JSON Schema of its arguments, published as it is; by default the
                hints of the function's parameters are the schema. With it, a parameter gets the
                property of its name and `**arguments` the rest, or a single parameter gets them
                all as a dict; values are plain JSON, checked against it where jsonschema-rs is
                installed.
            annotations: Hints about what it does.
            timeout: Seconds after which a call is stopped; the model is told.
            thread: Run a plain function in a worker thread. With `False` it runs on the event
                loop, which is quicker for a tiny one and stops the server for a slow one.
            meta: More about it, under reverse-DNS keys.

        Raises:
            TypeError: A parameter of the function cannot be an argument.
            ValueError: There is a tool of that name already, the name is not allowed, the input
                schema is no schema of an object, or an `x-mcp-header` in it breaks a rule.

        Spec: server/tools#tool
        """
        frame = sys._getframe(1)
        chosen = function if isinstance(function, str) else name

        def register(function: F) -> F:
            parameters: Parameters | WrittenParameters
            if input_schema is None:
                parameters = Parameters(function, Context, frame)
            else:
                # Only a schema that is written by hand needs this.
                from wigwag.server.written_schema import WrittenParameters  # noqa: PLC0415

                parameters = WrittenParameters(function, input_schema, Context, frame)
            output = ToolOutput(parameters.return_type)
            definition = Tool(
                name=chosen or _name_of(function),
                title=title or UNSET,
                description=description or parameters.description or UNSET,
                input_schema=parameters.schema,
                output_schema=UNSET if output.schema is None else output.schema,
                annotations=annotations or UNSET,
                meta=meta or UNSET,
            )
            _check_tool_name(definition.name)
            mirrored = _mirrored_in(definition)
            runner = Function(parameters, self._threads if thread else None, timeout)
            _add(self._tools, definition.name, ToolFeature(definition, runner, output), "tool")
            if mirrored:
                self._description.mirrored[definition.name] = mirrored
            self.tools_changed()
            return function

        return register(function) if callable(function) else register

    def resource(
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Register a function as a resource, or as a template for many; used as a decorator.

        Args:
            uri: Where it is read, compared as it is written. With variables, as in
                `kite://articles/{slug}`, it is a template, and the function takes parameters of
                the same names; `{+path}` and `{path*}` match slashes too.
            name: Its name; by default the function's.
            title: Its name, for people.
            description: What it is, for the model; by default the function's docstring.
            mime_type: The type of what is returned; by default `text/plain` for text,
                `application/octet-stream` for bytes and `application/json` for anything else.
            thread: Run a plain function in a worker thread rather than on the event loop.
            meta: More about it, under reverse-DNS keys.

        Raises:
            TypeError: The function's parameters are not the variables of the URI.
            ValueError: The URI is taken, or uses an expression that is not supported.

        Spec: server/resources
        """
        if callable(uri) or not isinstance(uri, str):
            raise TypeError('a resource needs its URI: @server.resource("kite://articles")')
        if ":" not in uri:
            raise ValueError(f"{uri!r} is no URI: it needs a scheme, as in kite://articles")
        frame = sys._getframe(1)

        def register(function: F) -> F:
            parameters = Parameters(function, Context, frame)
            about: dict[str, Any] = {
                "name": name or _name_of(function),
                "title": title or UNSET,
                "description": description or parameters.description or UNSET,
                "mime_type": mime_type or UNSET,
                "meta": meta or UNSET,
            }
            runner = Function(parameters, self._threads if thread else None)
            if "{" in uri:
                template = ResourceTemplate(uri_template=uri, **about)
                feature = ResourceFeature(template, runner, mime_type)
                _add(self._templates, uri, feature, "resource template")
            else:
                feature = ResourceFeature(Resource(uri=uri, **about), runner, mime_type)
                _add(self._resources, uri, feature, "resource")
            self.resources_changed()
            return function

        return register

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self,
        name: str | None = None,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...
    @overload
    def prompt(
        self,
        /,
        *,
        name: str,
        title: str | None = None,
        description: str | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> Callable[[F], F]: ...

    def prompt(
        self,
        function: F | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        thread: bool = True,
        meta: dict[str, Any] | None = None,
    ) -> F | Callable[[F], F]:
        """Register a function as a prompt; used as a decorator, bare or called.

        It returns text, a content block, a `PromptMessage`, or a list of these.

        Args:
            function: The function; or the prompt's name, unless that is the function's own.
            name: The prompt's name, in another place.
            title: Its name, for people.
            description: What it is for; by default the function's docstring.
            thread: Run a plain function in a worker thread rather than on the event loop.
            meta: More about it, under reverse-DNS keys.

        Raises:
            TypeError: A parameter of the function cannot be an argument.
            ValueError: There is a prompt of that name already.

        Spec: server/prompts
        """
        frame = sys._getframe(1)
        chosen = function if isinstance(function, str) else name

        def register(function: F) -> F:
            parameters = Parameters(function, Context, frame)
            arguments = prompt_arguments(parameters)
            definition = Prompt(
                name=chosen or _name_of(function),
                title=title or UNSET,
                description=description or parameters.description or UNSET,
                arguments=arguments or UNSET,
                meta=meta or UNSET,
            )
            runner = Function(parameters, self._threads if thread else None)
            _add(self._prompts, definition.name, PromptFeature(definition, runner), "prompt")
            self.prompts_changed()
            return function

        return register(function) if callable(function) else register

    @overload
    def completion(self, function: F, /) -> F: ...
    @overload
    def completion(
        self, feature: str | None = None, argument: str | None = None, /
    ) -> Callable[[F], F]: ...

    def completion(
        self, feature: F | str | None = None, argument: str | None = None, /
    ) -> F | Callable[[F], F]:
        """Register a function that completes an argument while it is typed; used as a decorator.

        With a feature and an argument the function is called with the text typed so far and,
        if it takes a second parameter, with the arguments known already; it returns the values
        that would fit, the best first. Without, it is asked for every argument that has no
        function of its own, and called with the reference, the argument and the context of the
        request.

        Args:
            feature: Name of a prompt, or URI of a resource template.
            argument: Name of its argument, or of its variable.

        Raises:
            ValueError: It has a completion function already.

        Spec: server/utilities/completion
        """

        def register(function: F) -> F:
            name = feature if isinstance(feature, str) else None
            self._completers.add(function, name, argument)
            self._description.changed()
            return function

        return register(feature) if callable(feature) else register

    def remove_tool(self, name: str) -> None:
        """Take a tool out; clients that want to know are told.

        Raises:
            KeyError: There is no such tool.
        """
        del self._tools[name]
        self._description.mirrored.pop(name, None)
        self.tools_changed()

    def remove_resource(self, uri: str) -> None:
        """Take a resource or a resource template out; clients that want to know are told.

        Raises:
            KeyError: There is no such resource.
        """
        del (self._templates if uri in self._templates else self._resources)[uri]
        self.resources_changed()

    def remove_prompt(self, name: str) -> None:
        """Take a prompt out; clients that want to know are told.

        Raises:
            KeyError: There is no such prompt.
        """
        del self._prompts[name]
        self.prompts_changed()

    # --- changes

    def tools_changed(self) -> None:
        """Tell clients that the list of tools has changed.

        Registering and removing does so by itself. Like all of these, it may be called in any
        thread, and reaches whoever is entitled: legacy sessions, and modern clients that listen.
        """
        self._lists_changed(NOTIFICATIONS_TOOLS_LIST_CHANGED, self._tool_list)

    def resources_changed(self) -> None:
        """Tell clients that the list of resources or of templates has changed."""
        lists = (self._resource_list, self._template_list)
        self._lists_changed(NOTIFICATIONS_RESOURCES_LIST_CHANGED, *lists)

    def prompts_changed(self) -> None:
        """Tell clients that the list of prompts has changed."""
        self._lists_changed(NOTIFICATIONS_PROMPTS_LIST_CHANGED, self._prompt_list)

    def resource_updated(self, uri: str) -> None:
        """Tell clients that subscribed to a resource that it reads otherwise than before."""
        self._publish(Change(NOTIFICATIONS_RESOURCES_UPDATED, uri))

    def _lists_changed(self, method: str, *lists: FeatureList) -> None:
        self._description.changed()
        for features in lists:
            features.changed()
        self._publish(Change(method))

    def _publish(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)

    def tell(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have each change of the server handed over, in any thread; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _capabilities(self) -> ServerCapabilities:
        # What was declared once stays so: its list may be empty, and may fill again.
        present = {
            "tools": bool(self._tools),
            "resources": bool(self._resources or self._templates),
            "prompts": bool(self._prompts),
        }
        self._declared |= {feature for feature, is_there in present.items() if is_there}
        has_resources = "resources" in self._declared
        return ServerCapabilities(
            tools=ToolsCapability(list_changed=True) if "tools" in self._declared else UNSET,
            resources=ResourcesCapability(subscribe=True, list_changed=True)
            if has_resources
            else UNSET,
            prompts=PromptsCapability(list_changed=True) if "prompts" in self._declared else UNSET,
            completions={} if self._completers else UNSET,
            logging={},
        )

    # --- serving

    def run(
        self,
        transport: Literal["stdio", "http", "streamable-http", "tcp", "unix"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        path: str | None = None,
        certfile: str | None = None,
        keyfile: str | None = None,
        **http: Unpack[HttpKeywords],
    ) -> None:
        """Serve until the host is gone or the process is told to stop; does not return before.

        Over stdio, standard output belongs to the protocol from here on: whatever is printed goes
        to standard error instead. When the host closes the input, the process ends within a second
        even if a tool is still running. SIGTERM and Ctrl+C end it cleanly, with open HTTP streams
        too.

        Args:
            transport: `stdio`; `http`, the Streamable HTTP of all revisions; or the framing of
                stdio over a socket: `tcp` or `unix`.
            host: Where to listen, for `http` and `tcp`.
            port: Where to listen, for `http` and `tcp`; 0 for a free one, which is then told.
            path: The path of the endpoint, for `http`, by default `/mcp`; or the socket, for
                `unix`.
            certfile: The certificate, for `http` with TLS.
            keyfile: Its key, if that is not in the same file.
            **http: What else `http_app` takes, for `http`.

        Raises:
            SystemExit: It cannot serve, as the streams are closed or the address is taken; the
                text says which.
            ValueError: There is no such transport, or its `path` is missing.
            RuntimeError: An event loop runs already.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            pass
        else:
            raise RuntimeError(
                "run() makes an event loop of its own; within one, await serve(connection), or "
                "give http_app() to an ASGI server"
            )
        is_http = transport in ("http", "streamable-http")
        if http and not is_http:
            raise TypeError(f"{', '.join(http)} is for HTTP, not for {transport}")
        # Only a program that serves needs this; one that is imported does not.
        from wigwag.server import process  # noqa: PLC0415

        try:
            if is_http:
                from wigwag.server.http_process import run_http  # noqa: PLC0415

                app = self.http_app(path or "/mcp", host=host, **http)
                run_http(app, self.info.name, host, port, certfile=certfile, keyfile=keyfile)
            elif transport == "stdio":
                process.run_stdio(self)
            elif transport == "tcp":
                process.run_tcp(self, host, port)
            elif transport == "unix":
                if path is None:
                    raise ValueError('run("unix") needs the path of the socket')
                process.run_unix(self, path)
            else:
                known = "stdio, http, tcp or unix"
                raise ValueError(f"there is no transport {transport!r}: use {known}")
        except TransportError as error:
            # For whoever has started the program: the last line of a traceback is all they need.
            raise SystemExit(f"{self.info.name} cannot serve: {error}") from None

    async def serve(self, connection: Connection) -> None:
        """Serve one connection until it ends.

        Args:
            connection: A connection that nobody has started yet.
        """
        async with self.running():
            served = self.start(connection)
            try:
                await served.wait_closed()
            finally:
                await served.aclose()

    @overload
    def start(self, connection: Connection) -> ServerConnection: ...
    @overload
    def start(self, connection: Connection, kind: type[S]) -> S: ...

    def start(
        self, connection: Connection, kind: type[ServerConnection] = ServerConnection
    ) -> ServerConnection:
        """Begin to serve a connection, within `running`, and return what serves it."""
        served = kind(
            connection,
            ServerProtocol(self._description),
            self._handlers,
            max_calls=self.limits.calls,
        )
        stop_telling = self.tell(served.publish)
        served.call_when_closed(lambda _: stop_telling())
        return served

    def http_app(  # noqa: PLR0913 - each is a keyword of its own, and most are never given
        self,
        path: str = "/mcp",
        *,
        host: str | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        cors: bool = False,
        sessions: bool = True,
        streams: bool = False,
        sse: bool | str = False,
        health: bool | str = False,
        grace: float = 5.0,
        stores: Stores | None = None,
    ) -> HttpApp:
        """Return the server as an ASGI application, for uvicorn, granian, hypercorn or a framework.

        Modern requests and sessions of all legacy revisions that have them are served at the same
        path, with and without a slash at its end. Mounted at a prefix, the endpoint is below it,
        and the prefix with a slash is the endpoint too. Nobody needs to run the lifespan of the
        application.

        Args:
            path: The path of the endpoint.
            host: The address that it will be bound to, if known. Bound to a loopback address, it
                answers requests to `localhost` only, unless `allowed_hosts` says more.
            allowed_hosts: Names it is reached by, such as `mcp.example.com`, `*.example.com` or
                `*`; by default any, when it is not bound to a loopback address.
            allowed_origins: Web pages that may use it besides its own, such as
                `https://app.example.com` or `*`.
            cors: Let those pages read the answers, too.
            sessions: Give legacy clients sessions. Without, no state is kept of them, and nothing
                can be asked of them while they wait; modern clients do not notice.
            streams: Answer by a stream of events even when there is nothing to send before the
                result.
            sse: Serve HTTP+SSE of 2024-11-05 as well: at `/sse`, or at this path.
            health: Answer `GET /health`, or this path, whoever asks.
            grace: Seconds that requests have to finish when the server ends.
            stores: Where sessions, events and news of changes are kept; by default in memory.

        Raises:
            ValueError: The path does not begin with a slash, or a host or origin cannot be read.
        """
        from wigwag.runtime.http_endpoint import HttpLimits  # noqa: PLC0415
        from wigwag.server.http_app import HttpApp, HttpOptions  # noqa: PLC0415
        from wigwag.stores.memory import memory_stores  # noqa: PLC0415

        limits = self.limits
        made = stores or memory_stores(
            max_sessions=limits.sessions,
            max_events=limits.events,
            max_event_bytes=limits.event_bytes,
        )
        return HttpApp(
            self,
            self._description,
            self._handlers,
            made,
            HttpLimits(
                max_message_bytes=limits.max_message_bytes,
                session_lifetime=limits.session_lifetime,
                streams=limits.streams,
                calls=limits.calls,
                keep_alive=limits.keep_alive,
                retry=limits.retry,
            ),
            HttpOptions(
                path=path,
                host=host,
                allowed_hosts=allowed_hosts,
                allowed_origins=allowed_origins,
                cors=cors,
                sessions=sessions,
                streams=streams,
                sse=sse,
                health=health,
                grace=grace,
            ),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the server's lifespan open; it is entered once, however many blocks are open."""
        async with self._lifespan_turn:
            if self._serving == 0 and self._lifespan is not None:
                entered = self._lifespan(self)
                self.lifespan_value = await entered.__aenter__()
                self._entered = entered
            self._serving += 1
        try:
            yield
        finally:
            async with self._lifespan_turn:
                self._serving -= 1
                if self._serving == 0 and self._entered is not None:
                    entered, self._entered = self._entered, None
                    await entered.__aexit__(None, None, None)

    # --- handlers

    def _call_tool(
        self, request: RequestReceived, connection: Dispatch
    ) -> Coroutine[Any, Any, Outcome]:
        tool = self._tools.get(request.params.name)
        if tool is None:
            raise _unknown("tool", request.params.name, self._tools)
        return tool.call(request, connection, self)

    def _list_tools(self, request: RequestReceived, connection: Dispatch) -> Members:
        return self._tool_list.page(self._tools, request.params.cursor, request.revision)

    def _list_resources(self, request: RequestReceived, connection: Dispatch) -> Members:
        return self._resource_list.page(self._resources, request.params.cursor, request.revision)

    def _list_templates(self, request: RequestReceived, connection: Dispatch) -> Members:
        return self._template_list.page(self._templates, request.params.cursor, request.revision)

    def _list_prompts(self, request: RequestReceived, connection: Dispatch) -> Members:
        return self._prompt_list.page(self._prompts, request.params.cursor, request.revision)

    async def _read_resource(self, request: RequestReceived, connection: Dispatch) -> Outcome:
        context = Context(self, connection, request)
        reading = partial(self.read_resource, request.params.uri, context)
        return await without_leaving(context.serve(reading))

    async def read_resource(self, uri: str, context: Context) -> ReadResourceResult | InputRequired:
        """Read a resource of this server on behalf of a request.

        Returns:
            What it reads, or what its function has to ask the client first.

        Raises:
            RequestFailed: There is no such resource.
        """
        feature, values = self._find_resource(uri)
        return await feature.read(uri, values, lambda: context)

    def _find_resource(self, uri: str) -> tuple[ResourceFeature, dict[str, str]]:
        feature = self._resources.get(uri)
        if feature is not None:
            return feature, {}
        for feature in self._templates.values():
            assert feature.template is not None
            values = feature.template.match(uri)
            if values is not None:
                return feature, values
        raise RequestFailed(RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})

    def _subscribe(self, request: RequestReceived, connection: Dispatch) -> Members:
        uri = request.params.uri
        self._find_resource(uri)
        session = connection.protocol.require_session()
        subscriptions = session.subscriptions
        if len(subscriptions) >= self.limits.subscriptions and uri not in subscriptions:
            limit = self.limits.subscriptions
            raise RequestFailed(INVALID_PARAMS, f"no more than {limit} subscriptions are possible")
        subscriptions[uri] = None
        session.changes += 1
        return ()

    def _unsubscribe(self, request: RequestReceived, connection: Dispatch) -> Members:
        session = connection.protocol.require_session()
        session.subscriptions.pop(request.params.uri, None)
        session.changes += 1
        return ()

    async def _get_prompt(self, request: RequestReceived, connection: Dispatch) -> Outcome:
        prompt = self._prompts.get(request.params.name)
        if prompt is None:
            raise _unknown("prompt", request.params.name, self._prompts)
        arguments = request.params.arguments
        context = Context(self, connection, request)
        values = {} if arguments is UNSET else arguments
        getting = partial(prompt.get, values, lambda: context)
        return await without_leaving(context.serve(getting))

    async def _complete(self, request: RequestReceived, connection: Dispatch) -> Outcome:
        params = request.params
        if not self._completers.has(params):
            self._check_reference(params)
        return await without_leaving(self._completers.complete(params))

    def _check_reference(self, params: CompleteRequestParams) -> None:
        """See to it that what is to be completed exists. Spec: server/utilities/completion."""
        ref, argument = params.ref, params.argument.name
        if isinstance(ref, PromptReference):
            prompt = self._prompts.get(ref.name)
            if prompt is None:
                raise _unknown("prompt", ref.name, self._prompts)
            listed = prompt.definition.arguments
            arguments = {} if listed is UNSET else {each.name: each for each in listed}
            if argument not in arguments and not self._completers.are_general:
                raise _unknown(f"argument of prompt {ref.name}", argument, arguments)
            return
        feature = self._templates.get(ref.uri)
        if feature is None or feature.template is None:
            if ref.uri in self._resources:
                return
            raise _unknown("resource template", ref.uri, self._templates)
        if argument not in feature.template.names and not self._completers.are_general:
            names = dict.fromkeys(feature.template.names)
            raise _unknown(f"variable of {ref.uri}", argument, names)


def _name_of(function: Callable[..., Any]) -> str:
    name: str | None = getattr(function, "__name__", None)
    if name is None or name == "<lambda>":
        raise ValueError("the function has no name of its own: give it one with `name`")
    return name


def _check_tool_name(name: str) -> None:
    """Refuse names that hosts do not take. Spec: server/tools#tool-names."""
    allowed = all(char.isascii() and (char.isalnum() or char in "_-.") for char in name)
    if not (allowed and 1 <= len(name) <= MAX_TOOL_NAME_CHARACTERS):
        raise ValueError(
            f"the tool name {name!r} is not allowed: 1 to {MAX_TOOL_NAME_CHARACTERS} ASCII "
            "letters, digits, `_`, `-` and `.`"
        )


def _mirrored_in(tool: Tool) -> Sequence[Any]:
    """Return which arguments of a tool are repeated in headers over HTTP, if any.

    Raises:
        ValueError: It says so in a way that clients would refuse. Spec: server/tools#x-mcp-header
    """
    if b'"x-mcp-header"' not in encode_value(tool.input_schema):
        return ()
    from wigwag.bindings.mirrored_parameters import mirrored_parameters  # noqa: PLC0415 - as rare

    try:
        return mirrored_parameters(tool.input_schema)
    except ValueError as error:
        raise ValueError(f"the tool {tool.name!r}: {error}") from None


def _add(features: dict[str, Any], key: str, feature: Any, kind: str) -> None:
    if key in features:
        raise ValueError(f"there is a {kind} {key!r} already")
    features[key] = feature


def _unknown(kind: str, name: str, known: dict[str, Any]) -> RequestFailed:
    """Return the error for a name that is not registered, with the nearest that is."""
    import difflib  # noqa: PLC0415 - only mistakes need it

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return RequestFailed(INVALID_PARAMS, f"Unknown {kind}: {name!r}{hint}")
