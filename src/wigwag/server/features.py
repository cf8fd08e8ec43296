"""What tools, resources and prompts have in common, as a server keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, Self, TypeVar

import msgspec
from msgspec import Struct

from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codec import encode_value
from wigwag.runtime.dispatch import Outcome

if TYPE_CHECKING:
    from wigwag.schema import CompleteRequestParams, Prompt, Resource, ResourceTemplate, Tool
    from wigwag.server.context import Context, Services
    from wigwag.server.middleware import Pipeline
    from wigwag.server.principal import Visible

    # For type checkers alone: making a protocol at run time takes longer than another class.
    class Owner(Services, Protocol):
        """What a feature needs of the server that it belongs to."""

        @property
        def pipeline(self) -> Pipeline | None:
            """What is around its handlers, if anything is."""
            ...

        async def complete(self, params: CompleteRequestParams, context: Context[Any]) -> Outcome:
            """Complete an argument of a feature of the server."""
            ...


MakeContext = Callable[[], "Context[Any]"]
D = TypeVar("D", "Tool", "Prompt", "Resource | ResourceTemplate")


class Availability(Struct, kw_only=True, frozen=True):
    """Who can use a feature, and when.

    Attributes:
        tags: By which it is switched on and off.
        enabled: Whether it can be used at all.
        visible: Who gets to see it, and may use it; everybody if it is `None`.
        scopes: What whoever uses it over HTTP must have, all of it.
        roles: What they must be, one of it.
    """

    tags: frozenset[str] = frozenset()
    enabled: bool = True
    visible: Visible | None = None
    scopes: tuple[str, ...] = ()
    roles: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse what would fail only when somebody asks."""
        if self.visible is not None and not callable(self.visible):
            raise TypeError(f"`visible` is a function of who asks, not {self.visible!r}")


FREE: Final = Availability()


class Feature(Generic[D]):
    """What tools, resources and prompts have in common.

    Args:
        definition: What lists say of it.
        owner: The server that it belongs to, though it may be found at others as well.
        availability: Who can use it, and when.

    Raises:
        TypeError: The definition is not what the protocol has: it would spoil the whole list.
    """

    def __init__(self, definition: D, owner: Owner, availability: Availability = FREE) -> None:
        _check(definition)
        self.definition: D = definition
        self.suggestions: dict[str, list[str]] = {}
        """What its arguments can be, of those that can be few things."""
        self.own_name: str = definition.name
        """Its name at its server, whatever it is called elsewhere."""
        self.owner = owner
        self.tags = availability.tags
        self.enabled = availability.enabled
        self.visible = availability.visible
        self.scopes = availability.scopes
        self.roles = availability.roles
        self.is_restricted = bool(self.visible is not None or self.scopes or self.roles)
        """Whether not everybody may use it."""

    def renamed(self, name: str) -> Self:
        """Return the same feature by another name."""
        from copy import copy  # noqa: PLC0415 - only mounted features get other names

        other = copy(self)
        other.definition = msgspec.structs.replace(self.definition, name=name)
        return other


def _check(definition: Tool | Prompt | Resource | ResourceTemplate) -> None:
    try:
        msgspec.json.decode(encode_value(definition), type=type(definition))
    except (LocalProtocolError, msgspec.ValidationError) as error:
        raise TypeError(f"{definition.name!r} cannot be listed: {error}") from None
