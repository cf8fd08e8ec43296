"""What URI templates are made of, as RFC 6570 has them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

OPERATORS: Final = "+#./;?&"
_RESERVED_OPERATORS: Final = "=,!@|"
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_NAME: Final = re.compile(r"(?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*", re.ASCII)
_NOTHING_TO_ENCODE: Final = re.compile(r"[\w:/?#\[\]@!$&'()*+,;=.~%-]*", re.ASCII)
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


class ParsedTemplate:
    """A template, read.

    Attributes:
        template: The template, as it was written.
        parts: Its literal texts and its expressions, in order.
        variables: Its variables, in order, with their modifiers.
        names: Their names, each once.

    Raises:
        ValueError: It is no template; the text says why.
    """

    def __init__(self, template: str) -> None:
        self.template = template
        self.parts = _parse(template)
        self.variables = [
            variable
            for part in self.parts
            if isinstance(part, Expression)
            for variable in part.variables
        ]
        self.names = list(dict.fromkeys(variable.name for variable in self.variables))

    def __str__(self) -> str:
        """The template, as it was written."""
        return self.template

    def __repr__(self) -> str:
        """As it is made."""
        return f"{type(self).__name__}({self.template!r})"


def encode_literal(text: str) -> str:
    """Encode what must not stand in a URI as it is, and nothing else.

    Raises:
        UnicodeEncodeError: It has a lone surrogate.
    """
    if _NOTHING_TO_ENCODE.fullmatch(text) is not None:
        return text
    return quote_text(text, keeps_reserved=True)


def quote_text(text: str, *, keeps_reserved: bool) -> str:
    """Encode a value; what is reserved in URIs, or encoded already, may stay as it is."""
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
