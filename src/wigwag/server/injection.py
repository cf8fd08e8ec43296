"""Comes by the values of a function's dependencies, which may have dependencies of their own."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import (
    _AsyncGeneratorContextManager,
    _GeneratorContextManager,
    asynccontextmanager,
    contextmanager,
)
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from wigwag.errors import ToolError
from wigwag.runtime.callables import is_async, is_either
from wigwag.runtime.threads import WorkerThreads
from wigwag.server.context import Context
from wigwag.server.parameters.callables import is_context, type_hints
from wigwag.server.parameters.dependencies import mark_of, name_of
from wigwag.server.parameters.signature import ArgumentsRefused, Parameters

if TYPE_CHECKING:
    from wigwag.server.parameters.written_schema import WrittenParameters

AnyParameters: TypeAlias = "Parameters | WrittenParameters"
Kind = inspect.Parameter


class Wanted(NamedTuple):
    """A dependency, as one parameter wants it."""

    function: Callable[..., Any]
    as_outcome: bool
    """Whether what the user did with a question is wanted, and not only what they answered."""


class Need(NamedTuple):
    """A parameter of a dependency's function, and where its value comes from."""

    name: str
    is_positional: bool
    is_context: bool
    wanted: Wanted | None
    """The dependency that it is; else it is the context, or an argument."""
    is_optional: bool
    annotation: Any


class Recipe:
    """How a dependency is made: its function, and what that needs."""

    def __init__(self, function: Callable[..., Any], hints: Mapping[str, Any]) -> None:
        self.name = name_of(function)
        self.function = self.make = function
        self.is_quick = True
        """Whether calling it does nothing that would block: it only makes what is awaited."""
        if is_either(inspect.isasyncgenfunction, function):
            self.make = asynccontextmanager(function)
        elif is_either(inspect.isgeneratorfunction, function):
            self.make = contextmanager(function)
        else:
            self.is_quick = is_async(function)
        self.needs = _needs_of(function, hints)


class Injection:
    """The dependencies of a function, checked when it is registered.

    Args:
        parameters: What the function takes.

    Raises:
        TypeError: A parameter of a dependency is nothing that it can be given, or a dependency
            depends on itself.
    """

    def __init__(self, parameters: AnyParameters) -> None:
        self._parameters = parameters
        function = parameters.function
        self._is_async = is_async(function)
        self._arguments: Mapping[str, Any] = parameters.schema.get("properties", {})
        self._hints = parameters.hints if isinstance(parameters, Parameters) else {}
        self._dependency_hints = parameters.dependency_hints
        self._recipes: dict[Callable[..., Any], Recipe] = {}
        self._wanted = {
            name: Wanted(mark.function, _is_outcome(parameters.hints.get(name)))
            for name, mark in parameters.dependencies.items()
        }
        owner = name_of(function)
        for name, wanted in self._wanted.items():
            try:
                self._check(wanted.function, ())
            except TypeError as error:
                raise TypeError(f"parameter `{name}` of {owner}: {error}") from None

    async def run(
        self, arguments: Any, context: Context[Any], threads: WorkerThreads | None
    ) -> Any:
        """Come by the values, in the order of the parameters, and call the function with them.

        Nothing is made before what stands before it is there, answers of the client included: it
        may be that it is not to happen unless the user says yes.

        Args:
            arguments: Its arguments, as they were read.
            context: The request. What is opened is closed at its end.
            threads: Where plain functions run; `None` to run them on the event loop.

        Raises:
            ToolError: The user declined what one of them has asked.
            ArgumentsRefused: One of them needs an argument that was left out.
        """
        return await context.run_in_scope(partial(self._run, arguments, context, threads))

    async def _run(
        self, arguments: Any, context: Context[Any], threads: WorkerThreads | None
    ) -> Any:
        making = _Making(self, arguments, context, threads)
        injected = {name: await making.value(name, it) for name, it in self._wanted.items()}
        call = partial(self._parameters.call, arguments, context, injected)
        value = await _call_anywhere(call, context, threads, is_quick=self._is_async)
        return await value if inspect.isawaitable(value) else value

    def recipe(self, function: Callable[..., Any]) -> Recipe:
        """Return how a dependency is made; one that was not there in the beginning is checked."""
        if function not in self._recipes:
            self._check(function, ())
        return self._recipes[function]

    def _check(self, function: Callable[..., Any], path: tuple[Callable[..., Any], ...]) -> None:
        if function in path:
            names = " → ".join(name_of(each) for each in (*path, function))
            raise TypeError(f"it depends on itself: {names}")
        if function in self._recipes:
            return
        hints = self._dependency_hints.get(function)
        recipe = Recipe(function, type_hints(function, None) if hints is None else hints)
        for need in recipe.needs:
            if need.wanted is not None:
                self._check(need.wanted.function, (*path, function))
            elif not need.is_context:
                self._check_argument(need, recipe)
        self._recipes[function] = recipe

    def _check_argument(self, need: Need, recipe: Recipe) -> None:
        if need.name not in self._arguments:
            if need.is_optional:
                return
            known = ", ".join(f"`{name}`" for name in self._arguments) or "none"
            raise TypeError(
                f"parameter `{need.name}` of its dependency {recipe.name} is neither the Context, "
                f"nor a dependency, nor an argument ({known})"
            )
        theirs = self._hints.get(need.name, Any)
        if not _is_as_good(theirs, need.annotation):
            raise TypeError(
                f"parameter `{need.name}` of its dependency {recipe.name} is not of the type that "
                f"the argument `{need.name}` has: {_shown(need.annotation)} and {_shown(theirs)}"
            )


class _Made(NamedTuple):
    """What a dependency has made."""

    value: Any
    depends_on_arguments: bool


class _Making:
    """Makes what one run of a function depends on."""

    def __init__(
        self,
        injection: Injection,
        arguments: Any,
        context: Context[Any],
        threads: WorkerThreads | None,
    ) -> None:
        self._injection = injection
        self._arguments = arguments
        self._context = context
        self._threads = threads
        self._scope = context.scope
        self._overrides = context.dependency_overrides
        # What depends on arguments is good for this function, the rest for the whole request.
        self._made: dict[Callable[..., Any], _Made] = {}
        self._under_way: set[Callable[..., Any]] = set()

    async def value(self, name: str, wanted: Wanted) -> Any:
        made = await self._get(wanted.function)
        return _as_wanted(made.value, wanted, name)

    async def _get(self, function: Callable[..., Any]) -> _Made:
        function = self._overrides.get(function, function)
        made = self._made.get(function) or self._scope.made.get(function)
        if made is not None:
            return made
        if function in self._under_way:
            raise RuntimeError(f"the dependency {name_of(function)} depends on itself")
        self._under_way.add(function)
        made = await self._make(self._injection.recipe(function))
        self._under_way.discard(function)
        self._made[function] = made
        if not made.depends_on_arguments:
            self._scope.made[function] = made
        return made

    async def _make(self, recipe: Recipe) -> _Made:
        positional: list[Any] = []
        keyword: dict[str, Any] = {}
        depends = False
        for need in recipe.needs:
            if need.is_context:
                value: Any = self._context
            elif need.wanted is not None:
                made = await self._get(need.wanted.function)
                depends = depends or made.depends_on_arguments
                value = _as_wanted(made.value, need.wanted, need.name)
            else:
                depends = True
                value = _argument(self._arguments, need.name)
                if value is _ABSENT:
                    if need.is_optional:
                        continue
                    raise ArgumentsRefused(f"`{need.name}` is missing")
            if need.is_positional:
                positional.append(value)
            else:
                keyword[need.name] = value
        value = await self._call(recipe, partial(recipe.make, *positional, **keyword))
        return _Made(await self._answered(recipe, value), depends)

    async def _call(self, recipe: Recipe, call: Callable[[], Any]) -> Any:
        value = await _call_anywhere(call, self._context, self._threads, is_quick=recipe.is_quick)
        if inspect.isawaitable(value):
            value = await value
        if isinstance(value, _GeneratorContextManager):
            return await self._scope.enter(value, self._threads)
        if isinstance(value, _AsyncGeneratorContextManager):
            return await self._scope.enter_async(value)
        return value

    async def _answered(self, recipe: Recipe, value: Any) -> Any:
        """Put a question to the client, if that is what a dependency has made."""
        questions = _questions()
        if questions is None or not isinstance(value, questions.Question):
            return value
        key: str = getattr(recipe.function, "__name__", "")
        key = key if key.isidentifier() else value.key
        return (await self._context.ask({key: value}))[key]


async def _call_anywhere(
    call: Callable[[], Any],
    context: Context[Any],
    threads: WorkerThreads | None,
    *,
    is_quick: bool,
) -> Any:
    """Call a function where its kind is to run: one that is quick only returns what is awaited."""
    if is_quick:
        return call()
    if threads is not None:
        return await context.scope.run(threads, call)
    return context.call_on_the_loop(call)


_ABSENT = object()


def _argument(arguments: Any, name: str) -> Any:
    if isinstance(arguments, dict):  # those of a hand-written schema
        return arguments.get(name, _ABSENT)
    return getattr(arguments, name, _ABSENT)


def _questions() -> Any:
    """Return the module of questions; `None` when nobody has loaded it, so that there are none."""
    return sys.modules.get("wigwag.server.asking.questions")


def _needs_of(function: Callable[..., Any], hints: Mapping[str, Any]) -> list[Need]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, and nobody knows what it takes: nothing, then
        return []
    except TypeError as error:
        raise TypeError(f"its dependency {name_of(function)} cannot be called: {error}") from None
    return [
        _need_of(each, hints.get(each.name, Any))
        for each in parameters
        if each.kind not in (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD)
    ]


def _need_of(parameter: Kind, annotation: Any) -> Need:
    mark = mark_of(annotation, parameter.default)
    return Need(
        parameter.name,
        parameter.kind is Kind.POSITIONAL_ONLY,
        mark is None and is_context(annotation, Context),
        None if mark is None else Wanted(mark.function, _is_outcome(annotation)),
        parameter.default is not Kind.empty,
        annotation,
    )


def _bare(annotation: Any) -> Any:
    is_annotated = typing.get_origin(annotation) is typing.Annotated
    return annotation.__origin__ if is_annotated else annotation


def _is_as_good(theirs: Any, ours: Any) -> bool:
    """Tell whether a value of their type will do where ours is wanted, as far as is known."""
    theirs, ours = _bare(theirs), _bare(ours)
    if Any in (theirs, ours) or theirs == ours or theirs in typing.get_args(ours):
        return True
    parts = typing.get_args(theirs)
    if parts and all(part in typing.get_args(ours) for part in parts):
        return True
    return isinstance(theirs, type) and isinstance(ours, type) and issubclass(theirs, ours)


def _shown(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


# --- what the user did with a question


def _is_outcome(annotation: Any) -> bool:
    """Tell whether a parameter takes what the user did, by its annotation."""
    kinds = _outcomes()
    annotation = _bare(annotation)
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    parts = typing.get_args(annotation) if is_union else (annotation,)
    return any((typing.get_origin(part) or part) in kinds for part in parts)


def _outcomes() -> tuple[type, ...]:
    questions = _questions()
    if questions is None:
        return ()
    return (
        questions.AcceptedElicitation,
        questions.DeclinedElicitation,
        questions.CancelledElicitation,
    )


def _as_wanted(value: Any, wanted: Wanted, name: str) -> Any:
    """Return what a parameter takes of what the user did, or of what there was anyway.

    Raises:
        ToolError: It takes an answer, and the user has given none.
    """
    is_outcome = isinstance(value, _outcomes())
    if wanted.as_outcome:
        return value if is_outcome else _questions().AcceptedElicitation(value)
    if not is_outcome:
        return value
    if value.action != "accept":
        did = "declined" if value.action == "decline" else "dismissed"
        raise ToolError(f"The user {did} what `{name}` needed to know")
    return value.data
