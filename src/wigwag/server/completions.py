"""Completion of arguments while they are being typed. Spec: server/utilities/completion."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from msgspec import UNSET

from wigwag.runtime.threads import WorkerThreads
from wigwag.schema import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
)
from wigwag.server.results.tool_results import InvalidOutput
from wigwag.server.suggestions import as_text, choose

MAX_COMPLETION_VALUES: Final = 100

Completer = Callable[..., Any]


class Completers:
    """The functions that complete arguments."""

    def __init__(self, threads: WorkerThreads) -> None:
        self._threads = threads
        self._by_argument: dict[tuple[str, str], Completer] = {}
        self._general: Completer | None = None

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
            ValueError: There is one already, and it is not to be replaced.
        """
        if feature is None or argument is None:
            if self._general is not None:
                raise ValueError("a completion function for everything is registered already")
            self._general = function
        elif (feature, argument) in self._by_argument and not replace:
            raise ValueError(f"{argument} of {feature} has a completion function already")
        else:
            self._by_argument[feature, argument] = function

    @property
    def are_general(self) -> bool:
        """Whether there is a function for whatever has none of its own."""
        return self._general is not None

    def has(self, params: CompleteRequestParams) -> bool:
        """Tell whether there is a function for this very argument."""
        return (_feature_of(params), params.argument.name) in self._by_argument

    async def complete(
        self, params: CompleteRequestParams, suggestions: Sequence[str] = ()
    ) -> CompleteResult:
        """Answer a completion request; with nothing to offer, by an empty list.

        Args:
            params: What is to be completed.
            suggestions: What the argument can be, when no function says more.

        Raises:
            InvalidOutput: A function returned what are no values.
        """
        context = params.context
        given = None if context is UNSET or context.arguments is UNSET else context
        known = {} if given is None else given.arguments
        specific = self._by_argument.get((_feature_of(params), params.argument.name))
        if specific is not None:
            found = await self._call(specific, params.argument.value, known)
        elif self._general is not None:
            found = await self._call(self._general, params.ref, params.argument, given)
        else:
            found = None
        if found is None and specific is None:
            found = choose(suggestions, params.argument.value)
        return CompleteResult(completion=_to_completion(found))

    async def _call(self, function: Completer, *arguments: Any) -> Any:
        """Call a completion function with as many arguments as it takes."""
        wanted = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        used = arguments[: len(wanted)]
        if inspect.iscoroutinefunction(function):
            return await function(*used)
        found = await self._threads.run(function, *used)
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
