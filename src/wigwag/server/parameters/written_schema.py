"""The parameters of a function whose arguments a hand-written JSON Schema describes."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wigwag.errors import RequestFailed
from wigwag.jsonrpc.codec import UNDECODABLE
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.schema.json_schema import make_check
from wigwag.server.annotations.docstrings import describe
from wigwag.server.parameters.callables import (
    hints_of_dependencies,
    is_context,
    parameters_of,
    type_hints,
)
from wigwag.server.parameters.dependencies import Dependency, mark_of
from wigwag.server.parameters.signature import NOTHING, ArgumentsRefused

Kind = inspect.Parameter

_BY_NAME: Final = (Kind.POSITIONAL_OR_KEYWORD, Kind.KEYWORD_ONLY, Kind.VAR_KEYWORD)


class WrittenParameters:
    """The parameters of a function, where their schema is given and not made from its hints.

    The function has a parameter for each property that it wants, or `**arguments` for the rest. Or
    it has a single one, which is no property: that takes all arguments as a dict. Values are plain
    JSON, whatever the hints say.

    Args:
        function: The function.
        schema: The schema, published as it is.
        context_type: The type of the parameter, if there is one, that is not an argument.
        frame: Where the function was defined, for annotations that are text.

    Raises:
        TypeError: A parameter is no property of the schema.
        ValueError: The schema is none, or is not one of an object.
    """

    is_plain = False

    def __init__(
        self,
        function: Callable[..., Any],
        schema: dict[str, Any],
        context_type: type,
        frame: types.FrameType | None = None,
    ) -> None:
        self.function = function
        self.schema = schema
        self.description, _ = describe(function)
        self.hints = hints = type_hints(function, frame)
        self.return_type: Any = hints.get("return", UNSET)
        self.context: str | None = None
        self.dependencies: dict[str, Dependency] = {}
        self._required: list[str] = []
        self._optional: list[str] = []
        self._takes_rest = False
        self._takes_all: str | None = None
        if schema.get("type") != "object":
            raise ValueError(f'the input schema of {self._name} must have "type": "object"')
        try:
            self._check = make_check(schema)
        except ValueError as error:
            raise ValueError(f"the input schema of {self._name} is none: {error}") from None
        for parameter in parameters_of(function):
            self._add(parameter, hints.get(parameter.name, Any), context_type)
        self.dependency_hints = hints_of_dependencies(self.dependencies.values(), frame)
        self._match()
        self.decode: Callable[[Any], Any] = self.read

    def read(self, arguments: Raw | bytes | UnsetType) -> dict[str, Any]:
        """Read arguments, which must be a JSON object or absent.

        Returns:
            What `call` takes.

        Raises:
            ArgumentsRefused: They are not what the schema wants, or not what the function takes.
            RequestFailed: They are no object at all, or no JSON.
        """
        try:
            values = {} if arguments is UNSET else msgspec.json.decode(arguments)
        except UNDECODABLE as error:
            raise RequestFailed(PARSE_ERROR, f"Parse error: in `arguments`: {error}") from None
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise RequestFailed(INVALID_PARAMS, "Invalid params: `arguments` must be an object")
        problem = self._check(values) or self._misfit(values)
        if problem is not None:
            raise ArgumentsRefused(problem)
        return values

    def call(
        self, arguments: dict[str, Any], context: Any, injected: Mapping[str, Any] = NOTHING
    ) -> Any:
        """Call the function with arguments that `read` has returned.

        Args:
            arguments: They.
            context: For the parameter that takes it.
            injected: The values of all `dependencies`.
        """
        named = arguments if self._takes_all is None else {self._takes_all: arguments}
        named = {**named, **injected}
        if self.context is not None:
            named[self.context] = context
        return self.function(**named)

    def _misfit(self, values: dict[str, Any]) -> str | None:
        """Say what the function cannot be called with, though the schema allows it."""
        if self._takes_all is not None:
            return None
        problems = [f"`{name}` is missing" for name in self._required if name not in values]
        if not self._takes_rest:
            known = (*self._required, *self._optional)
            problems += [f"`{name}` is not an argument" for name in values if name not in known]
        else:
            taken = [name for name in (self.context, *self.dependencies) if name in values]
            problems += [f"`{name}` is not an argument" for name in taken]
        return "; ".join(problems) or None

    def _add(self, parameter: Kind, annotation: Any, context_type: type) -> None:
        name = parameter.name
        if parameter.kind not in _BY_NAME:
            raise TypeError(f"`{name}` of {self._name} cannot be an argument: it has no name")
        if is_context(annotation, context_type):
            self.context = name
        elif (mark := mark_of(annotation, parameter.default)) is not None:
            self.dependencies[name] = mark
        elif name in ("ctx", "context") and parameter.annotation is Kind.empty:
            raise TypeError(f"`{name}` of {self._name} needs its type: `{name}: Context`")
        elif parameter.kind is Kind.VAR_KEYWORD:
            self._takes_rest = True
        else:
            is_required = parameter.default is Kind.empty
            (self._required if is_required else self._optional).append(name)

    def _match(self) -> None:
        """Hold the parameters to the properties, or find the one that takes all of them."""
        properties = self.schema.get("properties", {})
        strange = [n for n in (*self._required, *self._optional) if n not in properties]
        if not strange:
            return
        is_alone = len(strange) == 1 and strange == self._required and not self._optional
        if is_alone and not self._takes_rest:
            self._takes_all = strange[0]
            return
        raise TypeError(
            f"parameter `{strange[0]}` of {self._name} is no property of the input schema; "
            f"there are {', '.join(f'`{name}`' for name in properties) or 'none'}"
        )

    @property
    def _name(self) -> str:
        return getattr(self.function, "__qualname__", repr(self.function))
