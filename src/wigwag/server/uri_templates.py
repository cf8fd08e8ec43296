"""URI templates, as RFC 6570 has them: read, expanded and matched back.

Spec: server/resources#resource-templates
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

OPERATORS: Final = "+#./;?&"
_RESERVED_OPERATORS: Final = "=,!@|"
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_NAME: Final = re.compile(r"(?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*", re.ASCII)
_TRIPLET: Final = re.compile(r"(%[0-9A-Fa-f]{2})")
_MAX_PREFIX: Final = 9999


class Variable(NamedTuple):
    """A variable of a template, with its modifier."""

    name: str
    is_exploded: bool = False
    prefix: int | None = None
    """How many characters of the value are used; `None` for all."""


class Expression(NamedTuple):
    """What stands between braces."""

    operator: str
    """One of `OPERATORS`, or nothing."""
    variables: tuple[Variable, ...]


Part: TypeAlias = str | Expression


class _Style(NamedTuple):
    """How the values of an expression are written. Spec: RFC 6570, appendix A."""

    first: str
    separator: str
    is_named: bool = False
    if_empty: str = ""
    keeps_reserved: bool = False


_STYLES: Final = {
    "": _Style("", ","),
    "+": _Style("", ",", keeps_reserved=True),
    "#": _Style("#", ",", keeps_reserved=True),
    ".": _Style(".", "."),
    "/": _Style("/", "/"),
    ";": _Style(";", ";", is_named=True),
    "?": _Style("?", "&", is_named=True, if_empty="="),
    "&": _Style("&", "&", is_named=True, if_empty="="),
}


class UriTemplate:
    """A template of RFC 6570, all of its levels.

    >>> template = UriTemplate("kite://articles/{slug}{?lang,page}")
    >>> template.expand({"slug": "sso loop", "page": 2})
    'kite://articles/sso%20loop?page=2'
    >>> template.match("kite://articles/sso%20loop?page=2")
    {'slug': 'sso loop', 'page': '2'}

    Attributes:
        template: The template, as it was written.
        parts: Its literal texts and its expressions, in order.
        names: The names of its variables, in order.

    Raises:
        ValueError: It is no template; the text says why.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self.parts = _parse(template)
        variables = [v for part in self.parts if isinstance(part, Expression) for v in part[1]]
        self.names = list(dict.fromkeys(variable.name for variable in variables))

    def __str__(self) -> str:
        """The template, as it was written."""
        return self.template

    def __repr__(self) -> str:
        """As it is made."""
        return f"UriTemplate({self.template!r})"

    def expand(self, values: Mapping[str, Any]) -> str:
        """Return the URI that the template stands for with these values.

        Args:
            values: Text, numbers, lists and mappings, by the names of the variables. One that is
                missing, `None` or empty as a list is left out.

        Raises:
            ValueError: A list or a mapping stands where only the beginning of a text can.
        """
        return "".join(
            encode_literal(part) if isinstance(part, str) else self._expand(part, values)
            for part in self.parts
        )

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """Return the values of the variables in a URI, or `None` when it does not fit.

        Values are decoded, once. An exploded variable has a list. What stands in a query may come
        in any order or be missing; then there is no value for it.

        Where the text between two variables occurs in their values too, the one on the left has
        as much as it can: `{name}.{ext}` finds `a.tar` and `gz` in `a.tar.gz`.

        Raises:
            ValueError: Values cannot be told apart in what this template expands to; the text
                says where.
        """
        from wigwag.server.uri_matching import UriMatcher  # noqa: PLC0415 - it needs this module

        values = UriMatcher(self).match(uri)
        if values is None or any(name.startswith("?") for name in values):
            return None
        return values

    def _expand(self, expression: Expression, values: Mapping[str, Any]) -> str:
        style = _STYLES[expression.operator]
        texts: list[str] = []
        for variable in expression.variables:
            value = values.get(variable.name)
            if value is None or (isinstance(value, list | tuple | Mapping) and not value):
                continue
            if variable.prefix is not None and isinstance(value, list | tuple | Mapping):
                raise ValueError(
                    f"{self.template}: {variable.name} is {value!r}, and only text has a beginning "
                    f"of {variable.prefix} characters"
                )
            texts.append(_expand_variable(variable, value, style))
        return style.first + style.separator.join(texts) if texts else ""


def encode_literal(text: str) -> str:
    """Encode what must not stand in a URI as it is, and nothing else.

    Raises:
        UnicodeEncodeError: It has a lone surrogate.
    """
    if text.isascii() and text.isprintable() and not any(char in text for char in ' "<>\\^`{|}'):
        return text
    return _quote(text, keeps_reserved=True)


def _expand_variable(variable: Variable, value: Any, style: _Style) -> str:
    def encode(item: Any) -> str:
        return _quote(_text(item), keeps_reserved=style.keeps_reserved)

    def named(item: str) -> str:
        if not style.is_named:
            return item
        return f"{variable.name}={item}" if item else variable.name + style.if_empty

    if isinstance(value, Mapping):
        if variable.is_exploded:
            pairs = [f"{encode(key)}={encode(item)}" for key, item in value.items()]
            return style.separator.join(pairs)
        return named(",".join(encode(each) for pair in value.items() for each in pair))
    if isinstance(value, list | tuple):
        if variable.is_exploded:
            return style.separator.join(named(encode(item)) for item in value)
        return named(",".join(map(encode, value)))
    return named(encode(_text(value)[: variable.prefix]))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


def _quote(text: str, *, keeps_reserved: bool) -> str:
    from urllib.parse import quote  # noqa: PLC0415 - most servers start without it

    if not keeps_reserved:
        return quote(text, safe="")
    # What is encoded already stays so.
    pieces = _TRIPLET.split(text)
    return "".join(
        piece if index % 2 else quote(piece, safe=_RESERVED) for index, piece in enumerate(pieces)
    )


def _parse(template: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    position = 0
    while position < len(template):
        opening = template.find("{", position)
        literal = template[position:] if opening < 0 else template[position:opening]
        if "}" in literal:
            raise ValueError(f"{template}: a brace is closed that was not opened")
        if literal:
            parts.append(literal)
        if opening < 0:
            break
        closing = template.find("}", opening)
        if closing < 0:
            raise ValueError(f"{template}: a brace is opened and not closed")
        try:
            parts.append(_parse_expression(template[opening + 1 : closing]))
        except ValueError as error:
            raise ValueError(f"{template}: {error}") from None
        position = closing + 1
    return tuple(parts)


def _parse_expression(text: str) -> Expression:
    operator = text[:1] if text[:1] in tuple(OPERATORS) else ""
    if text[:1] in tuple(_RESERVED_OPERATORS):
        raise ValueError(f"{{{text}}} begins with {text[0]!r}, which has no meaning yet")
    names = text[len(operator) :].split(",")
    return Expression(operator, tuple(_parse_variable(name, text) for name in names))


def _parse_variable(text: str, expression: str) -> Variable:
    name, colon, digits = text.partition(":")
    prefix = None
    if colon:
        if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) <= _MAX_PREFIX):
            raise ValueError(f"{{{expression}}}: after the colon stands a number up to 9999")
        prefix = int(digits)
    is_exploded = name.endswith("*")
    name = name.removesuffix("*")
    if is_exploded and prefix is not None:
        raise ValueError(f"{{{expression}}}: a variable has `*` or `:`, not both")
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            f"{{{expression}}}: {name!r} is no name; it has letters, digits, `_` and single dots"
        )
    return Variable(name, is_exploded, prefix)
