"""How a server comes by its features: functions become tools, resources, prompts and completions.

Spec: server
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeVar, Unpack, overload

from msgspec import UNSET, Struct, UnsetType

from wigwag import schema
from wigwag.jsonrpc.codec import encode_value
from wigwag.protocol.server import CacheHint, ServerDescription
from wigwag.protocol.subscriptions import Change
from wigwag.runtime.dispatch import Outcome
from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    LEGACY_REVISIONS,
    METHODS,
    MODERN_REVISIONS,
    NOTIFICATIONS_PROMPTS_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_LIST_CHANGED,
    NOTIFICATIONS_RESOURCES_UPDATED,
    NOTIFICATIONS_TOOLS_LIST_CHANGED,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_TEMPLATES_LIST,
    TOOLS_LIST,
    Implementation,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    Tool,
    ToolsCapability,
)
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.catalogue import OnDuplicate, Shelf
from wigwag.server.context import Context
from wigwag.server.handlers import Handlers
from wigwag.server.lists import FeatureList

if TYPE_CHECKING:
    from typing import Self

    from wigwag.runtime.permits import Permit
    from wigwag.schema import (
        Annotations,
        CompleteRequestParams,
        Icon,
        ReadResourceResult,
        Resource,
        ResourceTemplate,
        ToolAnnotations,
    )
    from wigwag.server.asking.memory import Keeper
    from wigwag.server.completions import Completers
    from wigwag.server.features import Availability
    from wigwag.server.functions import Function
    from wigwag.server.methods import Method
    from wigwag.server.middleware import Pipeline
    from wigwag.server.parameters.signature import Parameters
    from wigwag.server.parameters.written_schema import WrittenParameters
    from wigwag.server.principal import Visible
    from wigwag.server.prompts import PromptFeature
    from wigwag.server.resources import ResourceFeature
    from wigwag.server.tools import ToolFeature
    from wigwag.server.uris.resource_uris import ResourceSecurity

if TYPE_CHECKING:  # making them at run time takes as long as all else in this module

    class ToolOptions(TypedDict, total=False):
        """What `tool` takes besides the function and its name."""

        title: str | None
        description: str | None
        input_schema: dict[str, Any] | None
        output_schema: dict[str, Any] | None
        structured_output: bool | None
        annotations: ToolAnnotations | None
        icons: Sequence[Icon] | None
        tags: Sequence[str]
        meta: dict[str, Any] | None
        timeout: float | None
        concurrency: int | None
        thread: bool
        strict: bool | None
        enabled: bool
        visible: Visible | None
        scopes: Sequence[str]
        roles: Sequence[str]

    class PromptOptions(TypedDict, total=False):
        """What `prompt` takes besides the function and its name."""

        title: str | None
        description: str | None
        icons: Sequence[Icon] | None
        tags: Sequence[str]
        meta: dict[str, Any] | None
        thread: bool
        enabled: bool
        visible: Visible | None
        scopes: Sequence[str]
        roles: Sequence[str]

    class ResourceOptions(TypedDict, total=False):
        """What `resource` takes besides the function and its URI."""

        name: str | None
        title: str | None
        description: str | None
        mime_type: str | None
        annotations: Annotations | None
        icons: Sequence[Icon] | None
        size: int | None
        tags: Sequence[str]
        meta: dict[str, Any] | None
        cache: CacheHint | None
        security: ResourceSecurity | None
        thread: bool
        enabled: bool
        visible: Visible | None
        scopes: Sequence[str]
        roles: Sequence[str]


MAX_TOOL_NAME_CHARACTERS: Final = 128

F = TypeVar("F", bound=Callable[..., Any])


class Registry(ABC):
    """The features of a server, and what is done with them; `Server` adds how they are served."""

    lifespan_value: Any = None
    pipeline: Pipeline | None = None
    """What is around the handlers, if anything is."""
    resource_security: ResourceSecurity | None = None
    """What the values of variables of templates may be, unless a template says otherwise."""

    def __init__(  # noqa: PLR0913 - what a server is made of
        self,
        info: Implementation,
        *,
        instructions: str | None,
        revisions: Sequence[str],
        threads: WorkerThreads,
        max_subscriptions: int,
        page_size: int | None,
        on_duplicate: OnDuplicate,
        strict_input: bool,
        cache_hints: Mapping[str, CacheHint],
        extensions: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self.info = info
        self.dependency_overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
        """What is called in place of what a parameter depends on, as tests want it."""
        self._threads = threads
        self._strict_input = strict_input
        self._cache_hints = _checked_hints(cache_hints)
        self._extensions = {name: dict(settings) for name, settings in extensions.items()}

        def shelf(kind: str, result: str, member: str) -> Shelf[Any]:
            def page(items: list[Any], following: str | UnsetType) -> Struct:
                list_result: type[Struct] = getattr(schema, result)  # loaded for this
                return list_result(**{member: items, "next_cursor": following})

            return Shelf(kind, FeatureList(page, page_size), on_duplicate)

        self._tools: Shelf[ToolFeature] = shelf("tool", "ListToolsResult", "tools")
        self._resources: Shelf[ResourceFeature] = shelf(
            "resource", "ListResourcesResult", "resources"
        )
        self._templates: Shelf[ResourceFeature] = shelf(
            "resource template", "ListResourceTemplatesResult", "resource_templates"
        )
        self._prompts: Shelf[PromptFeature] = shelf("prompt", "ListPromptsResult", "prompts")
        self._declared: set[str] = set()  # the features that there are, or have been
        self._listeners: list[Callable[[Change], None]] = []
        self._mounted: list[Registry] = []
        self._notifications: dict[str, Method] = {}
        self._description = ServerDescription(
            info,
            instructions=instructions or UNSET,
            revisions=revisions,
            capabilities=self._capabilities,
            cache_hint=self._cache_hint,
            mirrored=self._mirrored,
        )
        self._answers = Handlers(
            self,
            self._tools,
            self._resources,
            self._templates,
            self._prompts,
            max_subscriptions,
        )

    # --- registering

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self, name: str | None = None, /, **options: Unpack[ToolOptions]
    ) -> Callable[[F], F]: ...
    @overload
    def tool(self, /, *, name: str | None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        function: F | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        structured_output: bool | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] | None = None,
        tags: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        timeout: float | None = None,
        concurrency: int | None = None,
        thread: bool = True,
        strict: bool | None = None,
        enabled: bool = True,
        visible: Visible | None = None,
        scopes: Sequence[str] = (),
        roles: Sequence[str] = (),
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
            output_schema: The JSON Schema of its structured result, published as it is; by default
                the hint of what the function returns is the schema.
            structured_output: `False` for a result that is content only, whatever the hint says;
                `True` to have it an error when the hint says nothing that could be described.
            annotations: Hints about what it does.
            icons: Pictures to show beside its name.
            tags: Words to switch it on and off by, together with others. Clients do not see them.
            meta: More about it, under reverse-DNS keys.
            timeout: Seconds after which a call is stopped; the model is told.
            concurrency: How many calls may run at the same time; the others wait their turn.
            thread: Run a plain function in a worker thread. With `False` it runs on the event
                loop, which is quicker for a tiny one and stops the server for a slow one.
            strict: Take nothing but values of the very types that are declared; by default as
                the server says. Otherwise a number in text, or 3.0 for an integer, is taken where
                it can mean nothing else, for that is how models write.
            enabled: Whether it can be used from the start; see `enable`.
            visible: Called with who asks (see `Context.principal`): tells whether they see the tool
                and may call it.
            scopes: What whoever calls it over HTTP must have, all of it; who lacks some does not
                see it, and is told what is missing when they try. Over other transports the client
                is a program of whoever started the server, and may use everything.
            roles: What they must be, one of it; otherwise it is not there for them.

        Raises:
            TypeError: A parameter of the function cannot be an argument.
            ValueError: There is a tool of that name already, the name is not allowed, the input
                schema is no schema of an object, or an `x-mcp-header` in it breaks a rule.

        Spec: server/tools#tool
        """
        # Loaded with the first feature, like all that reads annotations.
        from wigwag.server.functions import Function  # noqa: PLC0415
        from wigwag.server.parameters.signature import Parameters  # noqa: PLC0415
        from wigwag.server.results.tool_results import ToolOutput  # noqa: PLC0415
        from wigwag.server.tools import ToolFeature  # noqa: PLC0415

        frame = _caller()
        chosen = function if isinstance(function, str) else name
        is_strict = self._strict_input if strict is None else strict

        def register(function: F) -> F:
            parameters: Parameters | WrittenParameters
            if input_schema is None:
                parameters = Parameters(function, Context, frame, strict=is_strict)
            else:
                # Only a schema that is written by hand needs this.
                from wigwag.server.parameters.written_schema import WrittenParameters  # noqa: PLC0415

                parameters = WrittenParameters(function, input_schema, Context, frame)
            output = ToolOutput(parameters.return_type, output_schema, structured=structured_output)
            definition = Tool(
                name=chosen or name_of(function),
                title=title or UNSET,
                description=description or parameters.description or UNSET,
                input_schema=parameters.schema,
                output_schema=UNSET if output.schema is None else output.schema,
                annotations=annotations or UNSET,
                icons=list(icons) if icons else UNSET,
                meta=meta or UNSET,
            )
            _check_tool_name(definition.name)
            feature = ToolFeature(
                definition,
                Function(parameters, self._threads if thread else None, timeout, concurrency),
                output,
                self,
                _availability(tags, visible, scopes, roles, enabled=enabled),
                _mirrored_in(definition),
            )
            if self._tools.add(definition.name, feature):
                self.tools_changed()
            return function

        return register(function) if callable(function) else register

    def resource(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        uri: str,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Annotations | None = None,
        icons: Sequence[Icon] | None = None,
        size: int | None = None,
        tags: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        cache: CacheHint | None = None,
        security: ResourceSecurity | None = None,
        thread: bool = True,
        enabled: bool = True,
        visible: Visible | None = None,
        scopes: Sequence[str] = (),
        roles: Sequence[str] = (),
    ) -> Callable[[F], F]:
        """Register a function as a resource, or as a template for many; used as a decorator.

        Args:
            uri: Where it is read, compared as it is written. With variables, as in
                `kite://articles/{slug}`, it is a template of RFC 6570, and the function takes
                parameters of the same names. `{+path}` matches slashes too; what stands in a query,
                as in `{?page,size}`, may be missing if the parameter has a default.
            name: Its name; by default the function's.
            title: Its name, for people.
            description: What it is, for the model; by default the function's docstring.
            mime_type: The type of what is returned; by default `text/plain` for text,
                `application/octet-stream` for bytes and `application/json` for anything else.
            annotations: For whom it is, how much it matters, when it was changed.
            icons: Pictures to show beside its name.
            size: How many bytes it has, if that is known.
            tags: Words to switch it on and off by, together with others. Clients do not see them.
            meta: More about it, under reverse-DNS keys.
            cache: How long what was read may be kept, by clients of the modern revisions.
            security: What the values of variables may be; by default nothing that climbs out of
                a directory.
            thread: Run a plain function in a worker thread rather than on the event loop.
            enabled: Whether it can be used from the start; see `enable`.
            visible: Called with who asks (see `Context.principal`): tells whether they see it and
                may read it.
            scopes: What whoever reads it over HTTP must have, all of it; who lacks some does not
                see it, and is told what is missing when they try. Over other transports the client
                is a program of whoever started the server, and may use everything.
            roles: What they must be, one of it; otherwise it is not there for them.

        Raises:
            TypeError: The function's parameters are not the variables of the URI.
            ValueError: The URI is taken, or uses an expression that is not supported.

        Spec: server/resources
        """
        if callable(uri) or not isinstance(uri, str):
            raise TypeError('a resource needs its URI: @server.resource("kite://articles")')
        if ":" not in uri:
            raise ValueError(f"{uri!r} is no URI: it needs a scheme, as in kite://articles")
        # A server of tools alone does not need this.
        from wigwag.server.resources import ResourceFeature  # noqa: PLC0415

        frame = _caller()

        def register(function: F) -> F:
            runner = self._runner(function, frame, thread=thread)
            about: dict[str, Any] = {
                "name": name or name_of(function),
                "title": title or UNSET,
                "description": description or runner.parameters.description or UNSET,
                "mime_type": mime_type or UNSET,
                "annotations": annotations or UNSET,
                "icons": list(icons) if icons else UNSET,
                "meta": meta or UNSET,
            }
            is_template = "{" in uri
            definition: Resource | ResourceTemplate
            if is_template:
                definition = schema.ResourceTemplate(uri_template=uri, **about)
            else:
                definition = schema.Resource(uri=uri, size=UNSET if size is None else size, **about)
            feature = ResourceFeature(
                definition,
                runner,
                mime_type,
                self,
                _availability(tags, visible, scopes, roles, enabled=enabled),
                cache,
                security or self.resource_security,
            )
            if (self._templates if is_template else self._resources).add(uri, feature):
                self.resources_changed()
            return function

        return register

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self, name: str | None = None, /, **options: Unpack[PromptOptions]
    ) -> Callable[[F], F]: ...
    @overload
    def prompt(
        self, /, *, name: str | None, **options: Unpack[PromptOptions]
    ) -> Callable[[F], F]: ...

    def prompt(  # noqa: PLR0913 - options, each of its own and given by name
        self,
        function: F | str | None = None,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: Sequence[Icon] | None = None,
        tags: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        thread: bool = True,
        enabled: bool = True,
        visible: Visible | None = None,
        scopes: Sequence[str] = (),
        roles: Sequence[str] = (),
    ) -> F | Callable[[F], F]:
        """Register a function as a prompt; used as a decorator, bare or called.

        It returns text, a content block, a `PromptMessage`, or a list of these.

        Args:
            function: The function; or the prompt's name, unless that is the function's own.
            name: The prompt's name, in another place.
            title: Its name, for people.
            description: What it is for; by default the function's docstring.
            icons: Pictures to show beside its name.
            tags: Words to switch it on and off by, together with others. Clients do not see them.
            meta: More about it, under reverse-DNS keys.
            thread: Run a plain function in a worker thread rather than on the event loop.
            enabled: Whether it can be used from the start; see `enable`.
            visible: Called with who asks (see `Context.principal`): tells whether they see it and
                may use it.
            scopes: What whoever uses it over HTTP must have, all of it; who lacks some does not
                see it, and is told what is missing when they try. Over other transports the client
                is a program of whoever started the server, and may use everything.
            roles: What they must be, one of it; otherwise it is not there for them.

        Raises:
            TypeError: A parameter of the function cannot be an argument.
            ValueError: There is a prompt of that name already.

        Spec: server/prompts
        """
        frame = _caller()
        chosen = function if isinstance(function, str) else name

        # A server of tools alone does not need this.
        from wigwag.server.prompts import PromptFeature, prompt_arguments  # noqa: PLC0415

        def register(function: F) -> F:
            runner = self._runner(function, frame, thread=thread)
            arguments = prompt_arguments(runner.parameters)
            definition = schema.Prompt(
                name=chosen or name_of(function),
                title=title or UNSET,
                description=description or runner.parameters.description or UNSET,
                arguments=arguments or UNSET,
                icons=list(icons) if icons else UNSET,
                meta=meta or UNSET,
            )
            feature = PromptFeature(
                definition,
                runner,
                self,
                _availability(tags, visible, scopes, roles, enabled=enabled),
            )
            if self._prompts.add(definition.name, feature):
                self.prompts_changed()
            return function

        return register(function) if callable(function) else register

    def add_tool(self, function: F, name: str | None = None, **options: Unpack[ToolOptions]) -> F:
        """Register a function as a tool; what `tool` does, without being a decorator."""
        return self.tool(name=name, **options)(function)

    def add_resource(self, uri: str, function: F, **options: Unpack[ResourceOptions]) -> F:
        """Register a function as a resource; what `resource` does, without being a decorator."""
        return self.resource(uri, **options)(function)

    def add_file(
        self,
        uri: str,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 16 * 1024 * 1024,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Offer a file as a resource: as text if it is some, as bytes otherwise.

        It is read whenever a client asks, in a worker thread. Name, MIME type, size and the time of
        the last change are those of the file at this moment, unless `options` say otherwise.

        Args:
            uri: Where clients read it.
            path: Where it is.
            max_bytes: How long it may be to be read.
            options: Those of `resource`.

        Raises:
            OSError: There is no such file.
            ValueError: The URI is taken.

        Spec: server/resources
        """
        from wigwag.server.files import FileSource  # noqa: PLC0415 - few servers need it

        file = FileSource(path, options.get("mime_type"), max_bytes)
        described: dict[str, Any] = {**file.describe(), **options}
        self.resource(uri, **described)(file.read)

    def add_directory(
        self,
        uri: str,
        path: str | os.PathLike[str],
        *,
        pattern: str = "*",
        hidden: bool = False,
        listed: bool = False,
        max_bytes: int = 16 * 1024 * 1024,
        **options: Unpack[ResourceOptions],
    ) -> None:
        """Offer what is in a directory: a template for the files, and a list of them as a resource.

        Paths are completed while they are typed. Nothing outside of the directory is read, wherever
        links lead, and what changes there needs no word to the server.

        Args:
            uri: What the URIs begin with, as `docs://handbook/`, which reads as a list of what is
                in the directory, in JSON; that of a directory within, with a slash at its end, too.
            path: Where it is.
            pattern: Which files there are, as `*.md`: a pattern for names, or with a slash in it
                for paths within the directory, where `*` matches slashes, too.
            hidden: Offer what begins with a dot as well.
            listed: Have each file in the list of resources, too: the files of this moment, and no
                more than 1000.
            max_bytes: How long a file may be to be read.
            options: Those of `resource`, for the template.

        Raises:
            OSError: There is no such directory.
            ValueError: The URI is taken or no beginning of one, or there are too many files.

        Spec: server/resources
        """
        from wigwag.server.files import DirectorySource  # noqa: PLC0415 - few servers need it

        source = DirectorySource(uri, path, pattern=pattern, hidden=hidden, max_bytes=max_bytes)
        files = source.files() if listed else []
        about = f"The files in {source.name}, by their paths."
        shared: dict[str, Any] = {"name": source.name, "description": about, **options}
        self.resource(source.template, **shared)(source.read)
        self.completers.add(source.complete, source.template, "path", replace=True)
        about = f"The files and directories in {source.name}."
        listing = {"mime_type": "application/json", "description": about}
        self.resource(source.uri, **{**shared, **listing})(source.read_root)
        for file_uri, file in files:
            described = {**shared, **file.describe()}
            self.resource(file_uri, **described)(file.read)

    def add_prompt(
        self, function: F, name: str | None = None, **options: Unpack[PromptOptions]
    ) -> F:
        """Register a function as a prompt; what `prompt` does, without being a decorator."""
        return self.prompt(name=name, **options)(function)

    def add_module(self, module: ModuleType, **options: Unpack[ToolOptions]) -> list[str]:
        """Register the functions of a module as tools.

        Those that are meant are the ones that `__all__` names, or else the ones that are defined in
        the module and do not begin with an underscore.

        Args:
            module: The module.
            options: What `tool` takes, for all of them.

        Returns:
            The names of the tools.

        Raises:
            TypeError: A parameter of one of them cannot be an argument.
            ValueError: There are no such functions, or a name is taken.
        """
        public = getattr(module, "__all__", None)
        functions = [
            value
            for name, value in vars(module).items()
            if callable(value)
            and not isinstance(value, type)
            and (
                name in public
                if public is not None
                else not name.startswith("_")
                and getattr(value, "__module__", None) == module.__name__
            )
        ]
        if not functions:
            raise ValueError(f"there are no public functions in {module.__name__}")
        for function in functions:
            self.tool(**options)(function)
        return [name_of(function) for function in functions]

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
            self.completers.add(function, name, argument)
            self._description.changed()
            return function

        return register(feature) if callable(feature) else register

    def method(
        self,
        name: str,
        *,
        extension: str | None = None,
        revisions: Sequence[str] = (*LEGACY_REVISIONS, *MODERN_REVISIONS),
        thread: bool = True,
    ) -> Callable[[F], F]:
        """Serve requests of a method that MCP does not know; used as a decorator.

        The function's parameters are the members of the params, and it returns the result: a dict,
        a dataclass or a model. It can do whatever the function of a tool can.

        Args:
            name: The method, as `com.example/search`.
            extension: The extension that it belongs to, which is declared to clients.
            revisions: The revisions in which it is served.
            thread: Run a plain function in a worker thread rather than on the event loop.

        Raises:
            TypeError: A parameter of the function cannot be a member of the params.
            ValueError: The method belongs to MCP, or is served already.

        Spec: basic#extensions
        """
        from wigwag.server.methods import Method, check_method  # noqa: PLC0415 - few have one

        check_method(name)
        frame = _caller()

        def register(function: F) -> F:
            runner = self._runner(function, frame, thread=thread)
            if name in self._answers.custom:
                raise ValueError(f"the method {name!r} is served already")
            self._answers.custom[name] = Method(name, self, runner).serve
            self._description.custom[name] = frozenset(revisions)
            if extension is not None:
                self._extensions.setdefault(extension, {})
            self._description.changed()
            self._rewire()
            return function

        return register

    def notification(self, name: str, *, thread: bool = True) -> Callable[[F], F]:
        """Take notifications of a method that MCP does not know; used as a decorator.

        Args:
            name: The method, as `com.example/moved`; or `notifications/initialized` and
                `notifications/roots/list_changed`, which MCP has but no server needs.
            thread: Run a plain function in a worker thread rather than on the event loop.

        Raises:
            TypeError: A parameter of the function cannot be a member of the params.
            ValueError: The method belongs to MCP, or is taken already.
        """
        from wigwag.server.methods import Method, check_notification  # noqa: PLC0415 - few do

        check_notification(name)
        frame = _caller()

        def register(function: F) -> F:
            runner = self._runner(function, frame, thread=thread)
            if name in self._notifications:
                raise ValueError(f"the notification {name!r} is taken already")
            self._notifications[name] = Method(name, self, runner)
            return function

        return register

    def _runner(
        self, function: Callable[..., Any], frame: FrameType | None, *, thread: bool
    ) -> Function[Parameters]:
        """Return what runs a function that is registered, by the hints of its parameters."""
        from wigwag.server.functions import Function  # noqa: PLC0415 - as for tools
        from wigwag.server.parameters.signature import Parameters  # noqa: PLC0415 - as for tools

        parameters = Parameters(function, Context, frame)
        return Function(parameters, self._threads if thread else None)

    # --- taking out, switching on and off

    def remove_tool(self, name: str) -> None:
        """Take a tool out; clients that want to know are told.

        Raises:
            KeyError: There is no such tool.
        """
        self._tools.remove(name)
        self.tools_changed()

    def remove_resource(self, uri: str) -> None:
        """Take a resource or a resource template out; clients that want to know are told.

        Raises:
            KeyError: There is no such resource.
        """
        (self._templates if uri in self._templates else self._resources).remove(uri)
        self.resources_changed()

    def remove_prompt(self, name: str) -> None:
        """Take a prompt out; clients that want to know are told.

        Raises:
            KeyError: There is no such prompt.
        """
        self._prompts.remove(name)
        self.prompts_changed()

    def enable(self, *names: str, tags: Sequence[str] = ()) -> None:
        """Switch features on; clients that want to know are told.

        Args:
            names: Names of tools and prompts, URIs of resources and templates.
            tags: Whatever has one of these is meant, too.

        Raises:
            KeyError: Nothing has this name.
        """
        self._switch(names, tags, enabled=True)

    def disable(self, *names: str, tags: Sequence[str] = ()) -> None:
        """Switch features off: they are neither listed nor found; see `enable`."""
        self._switch(names, tags, enabled=False)

    def _switch(self, names: Sequence[str], tags: Sequence[str], *, enabled: bool) -> None:
        found: set[str] = set()
        for shelf, tell in (
            (self._tools, self.tools_changed),
            (self._resources, self.resources_changed),
            (self._templates, self.resources_changed),
            (self._prompts, self.prompts_changed),
        ):
            meant = shelf.switch(frozenset(names), frozenset(tags), enabled=enabled)
            if meant:
                tell()
            found |= meant
        missing = [name for name in names if name not in found]
        if missing:
            raise KeyError(f"there is no {missing[0]!r} to switch {'on' if enabled else 'off'}")

    # --- other servers

    def mount(self, other: Self, *, prefix: str = "") -> None:
        """Offer what another server offers, too, and what it will offer later.

        Its features keep their lifespan, their middleware and what else is set on their server.
        Names of tools and prompts get the prefix, with an underscore after it; URIs stay what they
        are, for contents and links name them.

        Args:
            other: The other server. It can be mounted at several, and be served itself.
            prefix: What the names begin with here; nothing, to leave them as they are.

        Raises:
            ValueError: It is this server, or has this server mounted; or a name is taken.
        """
        if other is self or self in other._all_mounted():
            raise ValueError(f"{other.info.name} cannot be mounted: it would contain itself")
        pairs: tuple[tuple[Shelf[Any], Shelf[Any], str], ...] = (
            (self._tools, other._tools, prefix),
            (self._prompts, other._prompts, prefix),
            (self._resources, other._resources, ""),
            (self._templates, other._templates, ""),
        )
        for mine, theirs, here in pairs:
            for key in theirs.active:
                name = f"{here}_{key}" if here else key
                if name in mine.active:
                    hint = "" if prefix else "; mount it with a prefix"
                    raise ValueError(f"there is a {mine.kind} {name!r} already{hint}")
                if mine is self._tools:
                    _check_tool_name(name)
        self._tools.mount(prefix, other._tools)
        self._prompts.mount(prefix, other._prompts)
        self._resources.mount("", other._resources)
        self._templates.mount("", other._templates)
        self._mounted.append(other)
        other.tell(self._pass_on)
        self.tools_changed()
        self.resources_changed()
        self.prompts_changed()

    def _all_mounted(self) -> list[Registry]:
        return [each for one in self._mounted for each in (one, *one._all_mounted())]

    def _pass_on(self, change: Change) -> None:
        """Tell of a change of a mounted server."""
        if change.method == NOTIFICATIONS_TOOLS_LIST_CHANGED:
            self.tools_changed()
        elif change.method == NOTIFICATIONS_PROMPTS_LIST_CHANGED:
            self.prompts_changed()
        elif change.method == NOTIFICATIONS_RESOURCES_LIST_CHANGED:
            self.resources_changed()
        else:
            self._publish(change)

    # --- changes

    def tools_changed(self) -> None:
        """Tell clients that the list of tools has changed.

        Registering and removing does so by itself. Like all of these, it may be called in any
        thread, and reaches whoever is entitled: legacy sessions, and modern clients that listen.
        """
        self._tools.changed()
        self._lists_changed(NOTIFICATIONS_TOOLS_LIST_CHANGED)

    def resources_changed(self) -> None:
        """Tell clients that the list of resources or of templates has changed."""
        self._resources.changed()
        self._templates.changed()
        self._lists_changed(NOTIFICATIONS_RESOURCES_LIST_CHANGED)

    def prompts_changed(self) -> None:
        """Tell clients that the list of prompts has changed."""
        self._prompts.changed()
        self._lists_changed(NOTIFICATIONS_PROMPTS_LIST_CHANGED)

    def resource_updated(self, uri: str) -> None:
        """Tell clients that subscribed to a resource that it reads otherwise than before."""
        self._publish(Change(NOTIFICATIONS_RESOURCES_UPDATED, uri))

    def _lists_changed(self, method: str) -> None:
        self._description.changed()
        self._publish(Change(method))

    def _publish(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)

    def tell(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have each change of the server handed over, in any thread; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # --- what is declared

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
            completions={} if self._has_completions() else UNSET,
            logging={},
            extensions=self._extensions or UNSET,
        )

    @cached_property
    def completers(self) -> Completers:
        """The functions that complete arguments."""
        from wigwag.server.completions import Completers  # noqa: PLC0415 - not all servers have any

        return Completers(self._threads)

    def _mirrored(self) -> dict[str, Any]:
        tools = self._tools.active.items()
        return {name: tool.mirrored for name, tool in tools if tool.mirrored}

    def _has_completions(self) -> bool:
        return (
            bool(self.__dict__.get("completers"))
            or any(prompt.suggestions for prompt in self._prompts.active.values())
            or any(template.suggestions for template in self._templates.active.values())
            or any(each._has_completions() for each in self._mounted)
        )

    def _cache_hint(self, method: str) -> CacheHint | None:
        hint = self._cache_hints.get(method)
        shelves: dict[str, Shelf[Any]] = {
            TOOLS_LIST: self._tools,
            PROMPTS_LIST: self._prompts,
            RESOURCES_LIST: self._resources,
            RESOURCES_TEMPLATES_LIST: self._templates,
        }
        shelf = shelves.get(method)
        if hint is None or shelf is None or not shelf.is_filtered:
            return hint
        return CacheHint(hint.ttl_ms, "private")  # not everybody sees the same

    # --- who may use what

    def scopes_of(self, method: str, about: object) -> tuple[str, ...]:
        """Return the scopes that a request needs, as anybody may know them.

        Args:
            method: Its method.
            about: The name or the URI in its params.
        """
        return self._answers.scopes_of(method, about)

    def may_hear(self, permit: Permit | None, change: Change) -> bool:
        """Tell whether somebody who asks by HTTP may hear of a change."""
        return change.uri is None or self._answers.may_read(change.uri, permit)

    def _needing_more(self) -> str | None:
        """Return the name of a feature that not everybody may use who asks by HTTP, if any is."""
        shelves = (self._tools, self._resources, self._templates, self._prompts)
        for shelf in shelves:
            for name, feature in shelf.active.items():
                if feature.scopes or feature.roles:
                    return f"the {shelf.kind} {name!r}"
        return None

    # --- for handlers

    async def read_resource(
        self, uri: str, context: Context[Any]
    ) -> ReadResourceResult | InputRequired:
        """Read a resource of this server on behalf of a request.

        Returns:
            What it reads, or what its function has to ask the client first.

        Raises:
            RequestFailed: There is no such resource.
        """
        return await self._answers.read_for(uri, context)

    async def complete(self, params: CompleteRequestParams, context: Context[Any]) -> Outcome:
        """Complete an argument of a feature of this server, wherever it is mounted."""
        return await self._answers.complete_for(params, context.caller, context, lambda: context)

    @property
    @abstractmethod
    def keeper(self) -> Keeper:
        """What keeps the memory of calls between their rounds."""

    @abstractmethod
    def _rewire(self) -> None:
        """Take note of other handlers than before."""


def _caller() -> FrameType | None:
    """Return where the code stands that registers something: its annotations may need that."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    return frame


def _availability(
    tags: Sequence[str],
    visible: Visible | None,
    scopes: Sequence[str],
    roles: Sequence[str],
    *,
    enabled: bool,
) -> Availability:
    from wigwag.server.features import Availability  # noqa: PLC0415 - features have loaded it

    return Availability(
        tags=frozenset(_words("tags", tags)),
        enabled=enabled,
        visible=visible,
        scopes=_scopes(scopes),
        roles=frozenset(_words("roles", roles)),
    )


def _scopes(given: Sequence[str]) -> tuple[str, ...]:
    scopes = _words("scopes", given)
    if scopes:
        from wigwag.oauth.scopes import join_scopes  # noqa: PLC0415 - few features need any

        for scope in scopes:
            if scope not in join_scopes([scope]):
                raise ValueError(f"{scope!r} is no scope: one is ASCII without blanks and quotes")
    return scopes


def _words(setting: str, given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise TypeError(f"`{setting}` are several: write [{given!r}]")
    return tuple(given)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name that a feature gets from its function.

    Raises:
        ValueError: It has none of its own.
    """
    name: str | None = getattr(function, "__name__", None)
    if name is None or name == "<lambda>":
        raise ValueError("the function has no name of its own: give it one with `name`")
    return name


def _checked_hints(hints: Mapping[str, CacheHint]) -> dict[str, CacheHint]:
    for method in hints:
        row = METHODS.get(method)
        if row is None or not row.cacheable:
            known = ", ".join(each.name for each in METHODS.values() if each.cacheable)
            raise ValueError(f"results of {method} cannot be kept, only those of {known}")
    return dict(hints)


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
