"""Annotations as Python authors write them, in the terms of msgspec.

Where msgspec has no terms for them, a stand-in takes the place: for choices that it does not offer,
for classes with such members, and for what only pydantic can read. Pydantic itself is looked at
only when the user has loaded it: nobody has an annotation of a library that was never imported.
"""

from __future__ import annotations

import collections.abc
import enum
import sys
import typing
from collections.abc import Mapping
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from wigwag.server.annotations.field_metadata import (
    PydanticNeeded,
    constraints_of,
    descriptions_of,
    is_foreign,
)
from wigwag.server.annotations.foreign import is_model, is_of_pydantic
from wigwag.server.annotations.hooked import Hooked, convert, hooked
from wigwag.server.annotations.plain_schema import decode_hook

__all__ = ["Translator", "is_model", "translate", "translate_metadata"]

NO_NAMES: Final[Mapping[str, Any]] = MappingProxyType({})

_OTHERS: Final = {
    object: Any,
    typing.LiteralString: str,
    collections.abc.Iterable: list,
    collections.abc.Hashable: Any,
}


# What most parameters are.
_PLAIN: Final = frozenset({str, int, float, bool, Any, None, NoneType, bytes})


def translate(annotation: Any) -> Any:
    """Return an annotation that msgspec reads with the hooks of `plain_schema`, at every depth.

    Raises:
        TypeError: Nothing can read it, or a constraint in it would silently not hold.
    """
    return Translator().translate(annotation)


def translate_metadata(annotation: Any) -> Any:
    """Return an annotation whose metadata msgspec understands; its types stay what they are.

    Raises:
        TypeError: A constraint has no counterpart, and would silently not hold.
    """
    try:
        return Translator(is_deep=False).translate(annotation)
    except PydanticNeeded as needed:
        raise TypeError(f"{needed} is a constraint that cannot be kept") from None


class Translator:
    """Translates annotations that belong together.

    Text in them is a description. `Field(...)` and the constraints of `annotated_types` become
    `msgspec.Meta`.

    Args:
        names: What annotations of members that are text may name, besides what their module has.
        is_strict: Whether pydantic must not read one thing as another either.
        is_deep: Whether there may be stand-ins.
    """

    def __init__(
        self,
        names: Mapping[str, Any] = NO_NAMES,
        *,
        is_strict: bool = False,
        is_deep: bool = True,
    ) -> None:
        self._is_strict = is_strict
        self._names = names
        self._is_deep = is_deep
        self._open: list[Any] = []  # classes and aliases that are being looked at
        self._recursive: set[Any] = set()
        self._done: dict[Any, Any] = {}
        self._aliases: dict[Any, Any] = {}  # those that contain themselves, and their stand-ins
        self._meant: dict[Any, Any] = {}  # what those stand for

    def translate(self, annotation: Any) -> Any:
        """Return an annotation that msgspec reads with the hooks of `plain_schema`.

        Raises:
            TypeError: Nothing can read it, or a constraint in it would silently not hold.
        """
        try:
            return self._translate(annotation)
        except PydanticNeeded as needed:
            self._open.clear()
            if not self._is_deep:
                raise
            from wigwag.server.annotations.pydantic_types import adapt  # noqa: PLC0415 - only those who need it

            return adapt(annotation, str(needed), strict=self._is_strict)

    def _translate(self, annotation: Any) -> Any:
        origin = get_origin(annotation)
        if type(annotation).__name__ == "TypeAliasType" or type(origin).__name__ == "TypeAliasType":
            return self._translate_alias(annotation, origin)
        if origin is not None:
            return self._translate_generic(annotation, origin)
        if isinstance(annotation, TypeVar):
            return self._translate_variable(annotation)
        if hasattr(annotation, "__supertype__"):  # a NewType
            return self._or_same(annotation, annotation.__supertype__)
        return self._translate_type(annotation)

    def _or_same(self, old: Any, inner: Any) -> Any:
        """Translate what another name stands for; the name stays if nothing changes."""
        new = self._translate(inner)
        return old if new is inner else new

    def _translate_variable(self, variable: TypeVar) -> Any:
        if variable.__constraints__:
            return self._translate(Union[variable.__constraints__])  # noqa: UP007 - not known here
        return (
            variable if variable.__bound__ is None else self._or_same(variable, variable.__bound__)
        )

    def _translate_alias(self, alias: Any, origin: Any) -> Any:
        if alias in self._open:
            return self._stand_in_of(alias)
        self._open.append(alias)
        inner = alias.__value__ if origin is None else origin.__value__[get_args(alias)]
        new = self._translate(inner)
        self._open.pop()
        if new is inner and _is_read(alias):
            new = alias
        if alias not in self._aliases:
            return new
        self._meant[alias] = new
        return self._aliases[alias]

    def _stand_in_of(self, alias: Any) -> Any:
        """Return what an alias is called within itself, where what it means is not known yet."""
        if alias not in self._aliases:
            meant = self._meant
            self._aliases[alias] = hooked(
                str(alias),
                lambda value, hook: convert(value, meant[alias], hook),
                lambda schema_of: schema_of(meant[alias]),
            )
        return self._aliases[alias]

    def _translate_type(self, kind: Any) -> Any:
        try:
            if not self._is_deep or kind in _PLAIN:
                return kind
            if kind in _OTHERS:
                return _OTHERS[kind]
        except TypeError:
            return kind  # cannot be hashed: no type at all, as msgspec will say
        if not isinstance(kind, type) or isinstance(kind, Hooked) or is_model(kind):
            return kind
        return self._translate_class(kind, kind, {})

    def _translate_generic(self, annotation: Any, origin: Any) -> Any:
        arguments = get_args(annotation)
        if origin is Annotated:
            return self._translate_annotated(annotation)
        if origin is Literal:
            if not self._is_deep or all(type(a) in (str, int, NoneType) for a in arguments):
                return annotation
            from wigwag.server.annotations.choices import choice_of_values  # noqa: PLC0415 - few need it

            return choice_of_values("Literal", arguments)
        if origin is typing.Final:
            return self._translate(*arguments)
        return self._with_parts(annotation, origin, tuple(map(self._translate, arguments)))

    def _with_parts(self, annotation: Any, origin: Any, parts: tuple[Any, ...]) -> Any:
        """Return a generic type with other types in it."""
        is_new = any(new is not old for new, old in zip(parts, get_args(annotation), strict=True))
        if origin in (Union, UnionType):
            union = Union[parts] if is_new else annotation  # noqa: UP007 - not known here
            return self._told_apart(union, parts)
        if origin is collections.abc.Iterable:
            return list[parts]  # type: ignore[valid-type]  # a type at run time
        if is_new:
            annotation = origin[parts]
        is_class = isinstance(origin, type) and origin.__module__ not in (
            "builtins",
            "collections.abc",
        )
        if self._is_deep and is_class and not is_model(origin):
            variables = dict(zip(getattr(origin, "__parameters__", ()), parts, strict=False))
            return self._translate_class(annotation, origin, variables)
        return annotation

    def _told_apart(self, union: Any, parts: tuple[Any, ...]) -> Any:
        """Return a union that msgspec reads; it wants to know each type by what it looks like."""
        if not self._is_deep or _is_read(union):
            return union
        if any(is_model(get_origin(part) or part) for part in parts):
            raise PydanticNeeded("a choice between models")
        for part in parts:
            if not _is_read(part):
                return union  # not for being a union, then
        from wigwag.server.annotations.choices import choice_of_types  # noqa: PLC0415 - few need it

        return choice_of_types(parts)

    # --- classes

    def _translate_class(self, kind: Any, origin: Any, variables: Mapping[Any, Any]) -> Any:
        """Translate a class, which may be generic, and what stands for its variables."""
        if is_of_pydantic(origin):
            raise PydanticNeeded(origin.__name__)
        if issubclass(origin, enum.Enum):
            from wigwag.server.annotations.choices import (  # noqa: PLC0415 - few have one
                choice_of_values,
                is_plain_enum,
            )

            return kind if is_plain_enum(kind) else choice_of_values(kind.__name__, list(kind))
        from wigwag.server.annotations.members import has_members  # noqa: PLC0415 - likewise

        if kind not in self._done:
            if not has_members(origin):
                return kind
            if kind in self._open:
                self._recursive.add(kind)
                return kind
            self._done[kind] = self._translate_members(kind, origin, variables)
        return self._done[kind]

    def _translate_members(self, kind: Any, origin: Any, variables: Mapping[Any, Any]) -> Any:
        from wigwag.server.annotations.members import (  # noqa: PLC0415 - likewise
            has_defaults_of_pydantic,
            members_of,
            with_members,
        )

        if has_defaults_of_pydantic(origin):
            raise PydanticNeeded(f"a Field in the place of a default, in {origin.__name__}")
        self._open.append(kind)
        hints, alone = members_of(origin, self._names)
        hints = {name: _filled_in(hint, variables) for name, hint in hints.items()}
        translated = {name: self._translate_member(hint) for name, hint in hints.items()}
        self._open.pop()
        if alone and all(translated[name] is hint for name, hint in hints.items()):
            return kind
        if kind in self._recursive:
            what = f"the members of {origin.__name__}, which contains itself"
            if alone and "pydantic" in sys.modules:  # which has no trouble with that
                raise PydanticNeeded(what)
            raise TypeError(f"msgspec cannot read {what}; take a model of pydantic for it")
        return with_members(origin, translated)

    def _translate_member(self, hint: Any) -> Any:
        """Translate the annotation of a member, `Required[...]` and the like included."""
        if (
            get_origin(hint) in _WRAPPERS
            or getattr(get_origin(hint), "_name", "") in _WRAPPER_NAMES
        ):
            (inner,) = get_args(hint)
            return self._or_same(hint, inner)
        return self._translate(hint)

    # --- what else an annotation says

    def _translate_annotated(self, annotation: Any) -> Any:
        old, *metadata = get_args(annotation)
        kind = self._translate(old)
        constraints: dict[str, Any] = {}
        descriptions: dict[str, Any] = {}
        kept: list[Any] = []
        for item in metadata:
            if isinstance(item, str):
                descriptions["description"] = item
            elif is_foreign(item):
                self._check_alias(item)
                constraints |= constraints_of(item)
                descriptions |= descriptions_of(item)
            elif is_of_pydantic(item):
                raise PydanticNeeded(repr(item))
            elif item is not None:
                kept.append(item)
        if kind is old and len(kept) == len(metadata):
            return annotation
        if constraints:
            kind = _constrained(kind, constraints)
        if descriptions:
            kept.append(msgspec.Meta(**descriptions))
        for item in kept:
            kind = Annotated[kind, item]
        return kind

    def _check_alias(self, item: Any) -> None:
        if isinstance(getattr(item, "alias", None), str):
            if self._open:
                raise PydanticNeeded("an alias")
            raise TypeError("an argument cannot have an alias: name the parameter so")


_WRAPPERS: Final = (typing.Required, typing.NotRequired)
_WRAPPER_NAMES: Final = ("ReadOnly", "Required", "NotRequired")  # of typing_extensions as well


def _filled_in(hint: Any, variables: Mapping[Any, Any]) -> Any:
    """Return an annotation with types in the place of variables."""
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ()) if variables else ()
    if not parameters or isinstance(hint, type):
        return hint
    return hint[tuple(variables.get(parameter, parameter) for parameter in parameters)]


def _constrained(kind: Any, constraints: Mapping[str, Any]) -> Any:
    """Apply constraints; of `int | None` they bound the integer."""
    try:
        meta = msgspec.Meta(**constraints)
        if get_origin(kind) in (Union, UnionType):
            parts = (p if p in (None, NoneType) else Annotated[p, meta] for p in get_args(kind))
            bound: Any = Union[tuple(parts)]  # noqa: UP007 - the types are not known here
        else:
            bound = Annotated[kind, meta]
        if not isinstance(kind, Hooked):
            msgspec.json.Decoder(bound, dec_hook=decode_hook)
            return bound
    except (TypeError, ValueError):
        pass
    raise PydanticNeeded(", ".join(f"{name}={value!r}" for name, value in constraints.items()))


def _is_read(kind: Any) -> bool:
    try:
        msgspec.json.Decoder(kind, dec_hook=decode_hook)
    except (TypeError, RecursionError):
        return False
    return True
