"""Answers requests out of what a server offers.

Each handler takes a request and what serves it; and a context, if there is one already, as there is
inside of middleware.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from wigwag import schema
from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codes import INVALID_PARAMS
from wigwag.protocol.events import RequestReceived
from wigwag.protocol.server import SERVED_BY_THE_PROTOCOL, Members, named_by
from wigwag.runtime.dispatch import Dispatch, Handler, Outcome
from wigwag.runtime.failures import without_leaving
from wigwag.schema import (
    COMPLETION_COMPLETE,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCE_NOT_FOUND,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_SUBSCRIBE,
    RESOURCES_TEMPLATES_LIST,
    RESOURCES_UNSUBSCRIBE,
    SUBSCRIPTIONS_LISTEN,
    TOOLS_CALL,
    TOOLS_LIST,
)
from wigwag.server.access import Caller, caller_of
from wigwag.server.asking.input_required import InputRequired
from wigwag.server.context import Context

if TYPE_CHECKING:
    from wigwag.runtime.permits import Permit
    from wigwag.schema import CompleteRequestParams, ReadResourceResult
    from wigwag.server.catalogue import Shelf
    from wigwag.server.features import Feature
    from wigwag.server.middleware import Pipeline
    from wigwag.server.prompts import PromptFeature
    from wigwag.server.resources import ResourceFeature
    from wigwag.server.tools import ToolFeature

AnyContext = Context[Any] | None

_ABOUT_FEATURES = (TOOLS_CALL, PROMPTS_GET, RESOURCES_READ)


class Handlers:
    """The handlers of one server.

    Args:
        server: The server.
        max_subscriptions: How many resources a session can subscribe to.
    """

    def __init__(
        self,
        server: Any,
        tools: Shelf[ToolFeature],
        resources: Shelf[ResourceFeature],
        templates: Shelf[ResourceFeature],
        prompts: Shelf[PromptFeature],
        max_subscriptions: int,
    ) -> None:
        self._server = server
        self._tools = tools
        self._resources = resources
        self._templates = templates
        self._prompts = prompts
        self._max_subscriptions = max_subscriptions
        self.custom: dict[str, Any] = {}
        self._plain: dict[str, Any] = {
            TOOLS_CALL: self.call_tool,
            TOOLS_LIST: partial(self._list, tools),
            RESOURCES_LIST: partial(self._list, resources),
            RESOURCES_TEMPLATES_LIST: partial(self._list, templates),
            RESOURCES_READ: self.read,
            PROMPTS_LIST: partial(self._list, prompts),
            PROMPTS_GET: self.get_prompt,
            COMPLETION_COMPLETE: self.complete,
            RESOURCES_SUBSCRIBE: self.subscribe,
            RESOURCES_UNSUBSCRIBE: self.unsubscribe,
        }

    def table(self, pipeline: Pipeline | None, *, is_protected: bool = False) -> dict[str, Handler]:
        """Return what answers each method.

        Args:
            pipeline: What is around the handlers.
            is_protected: Whether not everybody who asks may use everything.
        """
        handlers = {**self._plain, **self.custom}
        if pipeline is None and not is_protected:
            return handlers
        handlers |= dict.fromkeys(SERVED_BY_THE_PROTOCOL, _by_the_protocol)
        if is_protected:
            handlers[SUBSCRIPTIONS_LISTEN] = self.listen
        if pipeline is None:
            return handlers
        table: dict[str, Handler] = {}
        table |= {method: partial(pipeline.serve, handler) for method, handler in handlers.items()}
        if is_protected:
            # Before a middleware waits for something: then it might be too late for a status.
            for method in _ABOUT_FEATURES:
                table[method] = partial(self._serve_if_allowed, table[method])
        return table

    def _serve_if_allowed(
        self,
        serve: Callable[[RequestReceived, Dispatch], Any],
        request: RequestReceived,
        connection: Dispatch,
    ) -> Any:
        caller = caller_of(request, connection, None)
        for feature in self._features_of(request.method, named_by(request.method, request.params)):
            if feature.is_restricted:
                caller.finds(feature)
        return serve(request, connection)

    def _features_of(self, method: str, about: object) -> Iterator[Feature[Any]]:
        """Return the feature that a request is about, if it is about one."""
        if not isinstance(about, str):
            return
        feature: Feature[Any] | None = None
        if method == TOOLS_CALL:
            feature = self._tools.active.get(about)
        elif method == PROMPTS_GET:
            feature = self._prompts.active.get(about)
        elif method in (RESOURCES_READ, RESOURCES_SUBSCRIBE):
            feature = self._resources.active.get(about) or next(self._templates_of(about), None)
        if feature is not None:
            yield feature

    def _templates_of(self, uri: str) -> Iterator[ResourceFeature]:
        for feature in self._templates.active.values():
            if feature.template is not None and feature.template.match(uri) is not None:
                yield feature

    def scopes_of(self, method: str, about: object) -> tuple[str, ...]:
        """Return the scopes that a request needs, as anybody may know them.

        Args:
            method: Its method.
            about: The name or the URI in its params.
        """
        for feature in self._features_of(method, about):
            if feature.visible is None and not feature.roles:
                return feature.scopes
        return ()

    # --- tools

    def call_tool(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Answer `tools/call`."""
        name = request.params.name
        tool = self._tools.active.get(name)
        if tool is None or (
            tool.is_restricted and not caller_of(request, connection, context).finds(tool)
        ):
            seen = self._tools.seen_by(caller_of(request, connection, context))
            raise unknown("tool", name, seen)
        if tool.owner is not self._server:
            return self._elsewhere(tool, tool.call, request, connection, context)
        if context is None and tool.is_immediate:
            return tool.call_at_once(request, connection.loop)
        return tool.call(request, connection, context)

    # --- lists

    def _list(
        self,
        shelf: Shelf[Any],
        request: RequestReceived,
        connection: Dispatch,
        context: AnyContext = None,
    ) -> Members:
        who = partial(caller_of, request, connection, context)
        return shelf.page(request.params.cursor, request.revision, who)

    # --- resources

    async def read(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Outcome:
        """Answer `resources/read`."""
        caller = caller_of(request, connection, context)
        feature, values = self._find(request.params.uri, caller)

        async def read(
            request: RequestReceived, connection: Dispatch, context: AnyContext
        ) -> Outcome:
            context = context or Context(feature.owner, connection, request)
            uri = request.params.uri
            reading = partial(feature.read, uri, values, lambda: context)
            return await without_leaving(context.serve(reading))

        if feature.owner is not self._server:
            return await self._elsewhere(feature, read, request, connection, context)
        return await read(request, connection, context)

    async def read_for(self, uri: str, context: Context[Any]) -> ReadResourceResult | InputRequired:
        """Read a resource on behalf of a request that was about something else."""
        feature, values = self._find(uri, context.caller)
        inner = context if feature.owner is self._server else context.within(feature.owner)
        return await feature.read(uri, values, lambda: inner)

    def _find(self, uri: str, caller: Caller) -> tuple[ResourceFeature, dict[str, Any]]:
        """Find a resource, and the values of the variables of its template.

        Raises:
            RequestFailed: There is none, for whoever asks.
            ScopesMissing: There is, and they lack scopes for it.
        """
        feature = self._resources.active.get(uri)
        if feature is not None and _is_found(feature, caller):
            return feature, {}
        for feature in self._templates.active.values():
            assert feature.template is not None
            values = feature.template.match(uri)
            if values is not None and _is_found(feature, caller):
                return feature, values
        raise RequestFailed(RESOURCE_NOT_FOUND, f"Resource not found: {uri}", {"uri": uri})

    def may_read(self, uri: str, permit: Permit | None) -> bool:
        """Tell whether somebody who asks by HTTP may read a resource, if there is one."""
        caller = Caller(None if permit is None else permit.principal, is_remote=True)
        feature = self._resources.active.get(uri)
        features = [feature] if feature is not None else list(self._templates_of(uri))
        return not features or any(
            not feature.is_restricted or caller.may_use(feature) for feature in features
        )

    def subscribe(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Members:
        """Answer `resources/subscribe`."""
        uri = request.params.uri
        self._find(uri, caller_of(request, connection, context))
        session = connection.protocol.require_session()
        subscriptions = session.subscriptions
        limit = self._max_subscriptions
        if len(subscriptions) >= limit and uri not in subscriptions:
            raise RequestFailed(INVALID_PARAMS, f"no more than {limit} subscriptions are possible")
        subscriptions[uri] = None
        session.changes += 1
        return ()

    def listen(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Outcome:
        """Answer `subscriptions/listen`, but not about resources that somebody may not read."""
        uris = request.params.notifications.resource_subscriptions
        caller = caller_of(request, connection, context)
        for uri in () if uris is UNSET else uris:
            if uri in self._resources.active or any(self._templates_of(uri)):
                self._find(uri, caller)  # anything else may come to be, or is above others
        return connection.protocol.serve(request)

    def unsubscribe(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Members:
        """Answer `resources/unsubscribe`."""
        session = connection.protocol.require_session()
        session.subscriptions.pop(request.params.uri, None)
        session.changes += 1
        return ()

    # --- prompts

    async def get_prompt(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Outcome:
        """Answer `prompts/get`."""
        name = request.params.name
        prompt = self._prompts.active.get(name)
        caller = caller_of(request, connection, context)
        if prompt is None or not _is_found(prompt, caller):
            raise unknown("prompt", name, self._prompts.seen_by(caller))

        async def get(
            request: RequestReceived, connection: Dispatch, context: AnyContext
        ) -> Outcome:
            arguments = request.params.arguments
            context = context or Context(prompt.owner, connection, request)
            values = {} if arguments is UNSET else arguments
            getting = partial(prompt.get, values, lambda: context)
            return await without_leaving(context.serve(getting))

        if prompt.owner is not self._server:
            return await self._elsewhere(prompt, get, request, connection, context)
        return await get(request, connection, context)

    # --- completion

    async def complete(
        self, request: RequestReceived, connection: Dispatch, context: AnyContext = None
    ) -> Outcome:
        """Answer `completion/complete`."""
        make_context = partial(Context, self._server, connection, request)
        caller = caller_of(request, connection, context)
        return await self.complete_for(request.params, caller, context, make_context)

    async def complete_for(
        self,
        params: CompleteRequestParams,
        caller: Caller,
        context: AnyContext,
        make_context: Callable[[], Context[Any]],
    ) -> Outcome:
        """Complete an argument of a feature of this server, or of one that is mounted."""
        if context is not None:
            make_context = partial(context.within, self._server)
        suggestions: list[str] = []
        self._check_access(params, caller)
        if not self._server.completers.has(params):
            feature = self._check_reference(params, caller)
            if feature is not None and feature.owner is not self._server:
                at_home = _as_at_home(params, feature)
                return await feature.owner.complete(at_home, context or make_context())
            if feature is not None:
                suggestions = feature.suggestions.get(params.argument.name, [])
        return await without_leaving(
            self._server.completers.complete(params, make_context, suggestions)
        )

    def _check_access(self, params: CompleteRequestParams, caller: Caller) -> None:
        """See to it that nobody learns the values of what they may not use."""
        ref = params.ref
        if isinstance(ref, schema.PromptReference):
            prompt = self._prompts.active.get(ref.name)
            if prompt is not None and not _is_found(prompt, caller):
                raise unknown("prompt", ref.name, self._prompts.seen_by(caller))
        else:
            template = self._templates.active.get(ref.uri)
            if template is not None and not _is_found(template, caller):
                raise unknown("resource template", ref.uri, self._templates.seen_by(caller))

    def _check_reference(
        self, params: CompleteRequestParams, caller: Caller
    ) -> Feature[Any] | None:
        """See to it that what is to be completed exists, and return its feature.

        Spec: server/utilities/completion
        """
        ref, argument = params.ref, params.argument.name
        if isinstance(ref, schema.PromptReference):
            prompts = self._prompts.seen_by(caller)
            prompt = prompts.get(ref.name)
            if prompt is None:
                raise unknown("prompt", ref.name, prompts)
            listed = prompt.definition.arguments
            arguments = [] if listed is UNSET else [each.name for each in listed]
            if prompt.owner is self._server and self._lacks(argument, arguments):
                raise unknown(f"argument of prompt {ref.name}", argument, arguments)
            return prompt
        templates = self._templates.seen_by(caller)
        feature = templates.get(ref.uri)
        if feature is None or feature.template is None:
            if ref.uri in self._resources.active:
                return None
            raise unknown("resource template", ref.uri, templates)
        if feature.owner is self._server and self._lacks(argument, feature.template.names):
            raise unknown(f"variable of {ref.uri}", argument, feature.template.names)
        return feature

    def _lacks(self, argument: str, known: Sequence[str]) -> bool:
        return argument not in known and not self._server.completers.are_general

    # --- features of mounted servers

    async def _elsewhere(
        self,
        feature: Feature[Any],
        serve: Callable[[RequestReceived, Dispatch, AnyContext], Any],
        request: RequestReceived,
        connection: Dispatch,
        context: AnyContext,
    ) -> Outcome:
        """Serve a request by a feature of another server: with its lifespan and middleware."""
        owner = feature.owner
        pipeline = owner.pipeline
        inner: Context[Any] = (
            Context(owner, connection, request) if context is None else context.within(owner)
        )
        if pipeline is None:
            outcome: Outcome = await serve(request, connection, inner)
            return outcome
        return await pipeline.run(serve, request, connection, inner)


def _by_the_protocol(
    request: RequestReceived, connection: Dispatch, context: AnyContext = None
) -> Outcome:
    return connection.protocol.serve(request)


def _as_at_home(params: CompleteRequestParams, feature: Feature[Any]) -> CompleteRequestParams:
    """Return params that name a prompt as the server does that it belongs to."""
    if not isinstance(params.ref, schema.PromptReference):
        return params
    ref = msgspec.structs.replace(params.ref, name=feature.own_name)
    return msgspec.structs.replace(params, ref=ref)


def _is_found(feature: Feature[Any], caller: Caller) -> bool:
    return not feature.is_restricted or caller.finds(feature)


def unknown(kind: str, name: str, known: Iterable[str]) -> RequestFailed:
    """Return the error for a name that nothing has, with the nearest that something has."""
    import difflib  # noqa: PLC0415 - only mistakes need it

    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return RequestFailed(INVALID_PARAMS, f"Unknown {kind}: {name!r}{hint}")
