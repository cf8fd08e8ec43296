"""What a server offers: its features by name, those of mounted servers among them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, TypeVar, get_args

from msgspec import UnsetType

from wigwag.protocol.server import Members
from wigwag.server.lists import FeatureList

if TYPE_CHECKING:
    from wigwag.server.access import Caller
    from wigwag.server.principal import Visible

    # For type checkers alone: making a protocol at run time takes longer than another class.
    class Feature(Protocol):
        """What a shelf needs to know of a feature."""

        definition: Any
        tags: frozenset[str]
        enabled: bool
        visible: Visible | None
        scopes: tuple[str, ...]
        roles: frozenset[str]
        is_restricted: bool

        def renamed(self, name: str) -> Self:
            """Return the same feature by another name."""
            ...


_logger = logging.getLogger("wigwag.server")

OnDuplicate = Literal["error", "warn", "replace", "ignore"]


F = TypeVar("F", bound="Feature")


class Shelf(Generic[F]):
    """The features of one kind.

    Args:
        kind: What they are, for error texts.
        pages: Makes the list of them.
        on_duplicate: What happens to a feature whose name is taken: it is an `error`; it takes the
            place of the other one, with a warning in the log (`warn`) or without (`replace`); or
            it is left out (`ignore`).

    Raises:
        ValueError: Nothing is known of what is to happen.
    """

    def __init__(self, kind: str, pages: FeatureList, on_duplicate: OnDuplicate) -> None:
        if on_duplicate not in get_args(OnDuplicate):
            known = ", ".join(get_args(OnDuplicate))
            raise ValueError(f"`on_duplicate` is one of {known}, not {on_duplicate!r}")
        self.kind = kind
        self._pages = pages
        self._on_duplicate = on_duplicate
        self._own: dict[str, F] = {}
        self._mounted: list[tuple[str, Shelf[F]]] = []

    def __iter__(self) -> Iterator[tuple[str, F]]:
        """The features of the server itself, those that are switched off included."""
        return iter(list(self._own.items()))

    def __bool__(self) -> bool:
        """Whether there is anything, if only switched off."""
        return bool(self._own or self.active)

    @cached_property
    def active(self) -> dict[str, F]:
        """What can be used now, by name: all that are enabled, of mounted servers as well."""
        active = {key: feature for key, feature in self._own.items() if feature.enabled}
        for prefix, other in self._mounted:
            for key, feature in other.active.items():
                name = f"{prefix}_{key}" if prefix else key
                if name in active:
                    _logger.warning("the %s %r of a mounted server is hidden", self.kind, name)
                    continue
                active[name] = feature.renamed(name) if prefix else feature
        return active

    @cached_property
    def is_filtered(self) -> bool:
        """Whether not everybody sees the same."""
        return any(feature.is_restricted for feature in self.active.values())

    def add(self, key: str, feature: F) -> bool:
        """Put a feature on the shelf; returns whether it is there now.

        Raises:
            ValueError: The name is taken, and that is an error.
        """
        if key in self._own:
            if self._on_duplicate == "error":
                raise ValueError(f"there is a {self.kind} {key!r} already")
            if self._on_duplicate == "ignore":
                return False
            if self._on_duplicate == "warn":
                _logger.warning("the %s %r takes the place of another one", self.kind, key)
        self._own[key] = feature
        return True

    def remove(self, key: str) -> None:
        """Take a feature of the server itself off the shelf.

        Raises:
            KeyError: There is none.
        """
        if key not in self._own:
            raise KeyError(f"there is no {self.kind} {key!r}")
        del self._own[key]

    def __contains__(self, key: str) -> bool:
        """Whether the server itself has such a feature."""
        return key in self._own

    def switch(self, names: frozenset[str], tags: frozenset[str], *, enabled: bool) -> set[str]:
        """Switch features on or off; returns the names of those that are meant."""
        meant = {
            key: feature
            for key, feature in self._own.items()
            if key in names or not tags.isdisjoint(feature.tags)
        }
        for feature in meant.values():
            feature.enabled = enabled
        return set(meant)

    def mount(self, prefix: str, other: Shelf[F]) -> None:
        """Let the features of another server be found here too, by names with a prefix."""
        self._mounted.append((prefix, other))

    def changed(self) -> None:
        """Forget what followed from what was there before; it is found out when it is needed.

        So a large catalogue is registered in linear time.
        """
        self.__dict__.pop("active", None)
        self.__dict__.pop("is_filtered", None)
        self._pages.changed()

    def seen_by(self, caller: Caller) -> Mapping[str, F]:
        """Return what somebody gets to see, as they may use it."""
        if not self.is_filtered:
            return self.active
        return {
            key: feature
            for key, feature in self.active.items()
            if not feature.is_restricted or caller.may_use(feature)
        }

    def page(
        self,
        cursor: str | UnsetType,
        revision: str,
        who: Callable[[], Caller],
    ) -> Members:
        """Return the members of a page of the list, as a revision knows it.

        Raises:
            RequestFailed: The cursor is not one that this list has given out.
        """
        if not self.is_filtered:
            return self._pages.page(self.active, cursor, revision)
        return self._pages.page_for_some(self.seen_by(who()), cursor, revision)
