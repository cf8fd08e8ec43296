"""URI templates, as RFC 6570 has them: read, expanded and matched back.

Spec: server/resources#resource-templates
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from wigwag.server.uris.matching import UriMatcher
from wigwag.server.uris.parts import (
    Expression,
    ParsedTemplate,
    Variable,
    encode_literal,
    quote_text,
)


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


class UriTemplate(ParsedTemplate):
    """A template of RFC 6570, all of its levels.

    >>> template = UriTemplate("kite://articles/{slug}{?lang,page}")
    >>> template.expand({"slug": "sso loop", "page": 2})
    'kite://articles/sso%20loop?page=2'
    >>> template.match("kite://articles/sso%20loop?page=2")
    {'slug': 'sso loop', 'page': '2'}

    Raises:
        ValueError: It is no template; the text says why.
    """

    def __init__(self, template: str) -> None:
        super().__init__(template)
        self._matcher: UriMatcher | None = None  # not every template can be matched back

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
        if self._matcher is None:
            self._matcher = UriMatcher(self)
        values = self._matcher.match(uri)
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


def _expand_variable(variable: Variable, value: Any, style: _Style) -> str:
    def encode(item: Any) -> str:
        return quote_text(_text(item), keeps_reserved=style.keeps_reserved)

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
