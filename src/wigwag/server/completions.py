"""Completion of arguments while they are being typed. Spec: server/utilities/completion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET

from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
)
from wigwag.server.context import Context
from wigwag.server.parameters.callables import is_context, type_hints
from wigwag.server.results.tool_results import InvalidOutput
from wigwag.server.suggestions import as_text, choose

MAX_COMPLETION_VALUES: Final = 100

Completer = Callable[..., Any]
Kind = inspect.Parameter


class Completers:
    """The functions that complete arguments."""

    def __init__(self, threads: WorkerThreads) -> None:
        self._threads = threads
        self._by_argument: dict[tuple[str, str], _Call] = {}
        self._general: _Call | None = None

    def __bool__(self) -> bool:
        """Whether anything can be completed."""
        return bool(self._by_argument) or self._general is not None

    def add(
        self,
        function: Completer,
        feature: str | None,
        argument: str | None,
        *,
        replace: bool = False,
    ) -> None:
        """Register a function for one argument, or for all that have none of their own.

        Args:
            function: The function.
            feature: Name of a prompt, or URI of a resource template.
            argument: Name of its argument, or of its variable.
            replace: Have it take the place of another one.

        Raises:
            TypeError: It takes more than it can be given.
            ValueError: There is one already, and it is not to be replaced.
        """
        call = _Call(function, 2 if feature is not None and argument is not None else 3)
        if feature is None or argument is None:
            if self._general is not None:
                raise ValueError("a completion function for everything is registered already")
            self._general = call
        elif (feature, argument) in self._by_argument and not replace:
            raise ValueError(f"{argument} of {feature} has a completion function already")
        else:
            self._by_argument[feature, argument] = call

    @property
    def are_general(self) -> bool:
        """Whether there is a function for whatever has none of its own."""
        return self._general is not None

    def has(self, params: CompleteRequestParams) -> bool:
        """Tell whether there is a function for this very argument."""
        return (_feature_of(params), params.argument.name) in self._by_argument

    async def complete(
        self,
        params: CompleteRequestParams,
        make_context: Callable[[], Context[Any]],
        suggestions: Sequence[str] = (),
    ) -> CompleteResult:
        """Answer a completion request; with nothing to offer, by an empty list.

        Args:
            params: What is to be completed.
            make_context: Returns the request, for functions that want it.
            suggestions: What the argument can be, when no function says more.

        Raises:
            InvalidOutput: A function returned what are no values.
        """
        context = params.context
        given = None if context is UNSET or context.arguments is UNSET else context
        known = {} if given is None else given.arguments
        specific = self._by_argument.get((_feature_of(params), params.argument.name))
        if specific is not None:
            arguments: tuple[Any, ...] = (params.argument.value, known)
            found = await specific.run(self._threads, make_context, arguments)
        elif self._general is not None:
            arguments = (params.ref, params.argument, given)
            found = await self._general.run(self._threads, make_context, arguments)
        else:
            found = None
        if found is None and specific is None:
            found = choose(suggestions, params.argument.value)
        return CompleteResult(completion=_to_completion(found))


class _Call:
    """How a completion function is called: with as many arguments as it takes, and the context.

    Args:
        function: The function.
        most: How many arguments there are for it.

    Raises:
        TypeError: It takes more.
    """

    def __init__(self, function: Completer, most: int) -> None:
        self._function = function
        hints = type_hints(function, None)
        # For each parameter in order, whether it takes the context.
        self._takes_context: list[bool] = []
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind not in (Kind.POSITIONAL_ONLY, Kind.POSITIONAL_OR_KEYWORD):
                continue
            takes_context = is_context(hints.get(parameter.name, Any), Context)
            if not takes_context and self._takes_context.count(False) == most:
                if parameter.default is not Kind.empty:
                    break
                name = getattr(function, "__qualname__", repr(function))
                raise TypeError(
                    f"`{parameter.name}` of {name} cannot be given: a completion function takes "
                    f"{most} arguments at most, and the Context by its annotation"
                )
            self._takes_context.append(takes_context)

    async def run(
        self,
        threads: WorkerThreads,
        make_context: Callable[[], Context[Any]],
        arguments: tuple[Any, ...],
    ) -> Any:
        left = iter(arguments)
        used = [make_context() if context else next(left) for context in self._takes_context]
        call = partial(self._function, *used)
        if inspect.iscoroutinefunction(self._function):
            return await call()
        found = await threads.run(call)
        # An object may be async, too, or a partial of an async function.
        return await found if inspect.isawaitable(found) else found


def _feature_of(params: CompleteRequestParams) -> str:
    return params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri


def _to_completion(found: Any) -> Completion:
    if found is None:
        return Completion(values=[])
    if isinstance(found, Completion):
        return _capped(found)
    if isinstance(found, Iterable) and not isinstance(found, str | bytes):
        return _capped(Completion(values=[as_text(value) for value in found]))
    raise InvalidOutput("a completion function returns the values as a list of text")


def _capped(completion: Completion) -> Completion:
    values = completion.values
    if len(values) <= MAX_COMPLETION_VALUES:
        return completion
    total = len(values) if completion.total is UNSET else completion.total
    return Completion(values=values[:MAX_COMPLETION_VALUES], total=total, has_more=True)
