"""The URIs that a resource template answers to, and what a value in one may be.

Spec: server/resources#resource-templates
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin

from msgspec import Struct

from wigwag.server.uris.matching import UriMatcher
from wigwag.server.uris.parts import ParsedTemplate, Variable

if TYPE_CHECKING:
    from wigwag.server.uris.layout import Kind

_logger = logging.getLogger("wigwag.server")

# A value that is encoded more often than this is not one that anybody means.
_MAX_DECODINGS: Final = 8


class ResourceSecurity(Struct, frozen=True, kw_only=True):
    """What the values of a template's variables may not be, as functions make paths of them.

    A URI with a value that is refused is not found. Values are looked at decoded, and decoded
    further, in case whoever gets them decodes them again.

    Attributes:
        reject_path_traversal: Refuse `..` as a part of a path, and a slash or a backslash in a
            variable that stands for a single segment.
        reject_absolute_paths: Refuse what begins with a slash, a backslash or a drive letter.
        reject_null_bytes: Refuse NUL.
        exempt_params: The variables whose values are not looked at.
    """

    reject_path_traversal: bool = True
    reject_absolute_paths: bool = True
    reject_null_bytes: bool = True
    exempt_params: Collection[str] = frozenset()

    def allows(self, value: str, *, is_segment: bool = False) -> bool:
        """Tell whether a variable may have a value.

        Args:
            value: The value, decoded.
            is_segment: Whether the variable stands for a single segment of a path.
        """
        if is_segment and self.reject_path_traversal and ("/" in value or "\\" in value):
            return False
        if "%" not in value:
            return self._allows_as_it_is(value)
        from urllib.parse import unquote  # noqa: PLC0415 - most servers start without it

        for _ in range(_MAX_DECODINGS):
            if not self._allows_as_it_is(value):
                return False
            decoded = unquote(value)
            if decoded == value:
                return True
            value = decoded
        return False

    def _allows_as_it_is(self, value: str) -> bool:
        slashed = value.replace("\\", "/")
        if self.reject_null_bytes and "\0" in value:
            return False
        if self.reject_path_traversal and ".." in slashed.split("/"):
            return False
        has_drive = value[1:2] == ":" and value[0].isascii() and value[0].isalpha()
        return not (self.reject_absolute_paths and (slashed.startswith("/") or has_drive))


class ResourceUris:
    """Finds the values of a template's variables in URIs, as its function takes them.

    Args:
        template: The template.
        types: The parameters of the function, with their types.
        defaults: Those that may be missing.
        security: What values may not be; by default everything that is known to be of harm.

    Attributes:
        names: The names of the variables, in order.

    Raises:
        TypeError: The variables are not the parameters of the function, or of another kind.
        ValueError: It is no template, or values cannot be told apart in its URIs.
    """

    def __init__(
        self,
        template: str,
        types: Mapping[str, Any],
        defaults: Collection[str],
        security: ResourceSecurity | None = None,
    ) -> None:
        parsed = ParsedTemplate(template)
        self.names = parsed.names
        variables = parsed.variables
        _check_names(template, self.names, types, defaults)
        for variable in variables:
            _check_type(template, variable, types[variable.name])
        kinds: dict[str, Kind] = {
            name: "list" if _is_list(types[name]) else "text" for name in self.names
        }
        self._matcher = UriMatcher(parsed, kinds)
        # Several values may be none at all, and then the URI has nothing of them.
        self._may_be_empty = [
            name
            for name, is_exploded, _ in variables
            if is_exploded and kinds[name] == "list" and name not in defaults
        ]
        self._security = security or ResourceSecurity()

    def match(self, uri: str) -> dict[str, Any] | None:
        """Return the values of the variables, or `None` when the URI does not fit or is refused.

        What a query has besides stands among them with a `?` before its name.
        """
        values = self._matcher.match(uri)
        if values is None:
            return None
        for name, value in values.items():
            if not self._allows(name, value):
                _logger.info("%r is refused by its ResourceSecurity for the value of %s", uri, name)
                return None
        for name in self._may_be_empty:
            values.setdefault(name, [])
        return values

    def _allows(self, name: str, value: str | list[str]) -> bool:
        if name in self._security.exempt_params:
            return True
        if isinstance(value, list):
            return all(self._security.allows(part) for part in value)
        return self._security.allows(value, is_segment=name in self._matcher.segments)


def _check_names(
    template: str, names: list[str], types: Mapping[str, Any], defaults: Collection[str]
) -> None:
    missing = [name for name in names if name not in types]
    unknown = [name for name in types if name not in names and name not in defaults]
    if missing or unknown:
        raise TypeError(
            f"{template}: its variables ({', '.join(names)}) and the parameters of its "
            f"function ({', '.join(types)}) must have the same names"
        )


def _check_type(template: str, variable: Variable, kind: Any) -> None:
    name = variable.name
    if variable.is_exploded and any(_origin(part) in (dict, Mapping) for part in _parts(kind)):
        raise TypeError(
            f"{template}: `{name}` is a mapping, and no template says which names in a URI "
            "belong to it"
        )


def _is_list(kind: Any) -> bool:
    return any(_origin(part) in _LISTS for part in _parts(kind))


_LISTS: Final = (list, tuple, set, frozenset, Collection, Iterable)


def _origin(kind: Any) -> Any:
    origin = get_origin(kind) or kind
    if isinstance(origin, type) and origin.__module__ == "collections.abc":
        return Mapping if issubclass(origin, Mapping) else Iterable
    return origin


def _parts(kind: Any) -> list[Any]:
    """Return the types that a union offers; a type that is none by itself."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _parts(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [each for part in get_args(kind) for each in _parts(part)]
    return [kind]
