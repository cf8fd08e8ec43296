"""Takes a URI template apart for matching, and refuses what could not be told apart again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from wigwag.server.uris.parts import (
    Expression,
    ParsedTemplate,
    Part,
    Variable,
    encode_literal,
)

Kind: TypeAlias = Literal["text", "list"]

_ENDS_A_SEGMENT: Final = "?#"


class Field(NamedTuple):
    """Where a variable stands."""

    variable: Variable
    kind: Kind
    separator: str = ","
    excluded: str = _ENDS_A_SEGMENT + "/"
    is_wide: bool = False
    """Whether it may have slashes, and so take several segments."""
    is_whole: bool = False
    """Whether it takes whole segments, with the slash before each, or none at all."""


Piece: TypeAlias = str | Field


class Segment:
    """What stands between two slashes of a template, or for several segments.

    Attributes:
        pieces: Literal texts and variables, with no two variables side by side.
        matrix: The variables of a `{;…}` at its end, by their names; `None` where there is none.
        literal: All of it, where there are no variables.
    """

    def __init__(self, pieces: list[Piece], matrix: dict[str, Field] | None) -> None:
        self.pieces = pieces
        self.matrix = matrix
        self.literal = "".join(map(str, pieces)) if _is_literal(pieces, matrix) else None
        fields = [piece for piece in pieces if isinstance(piece, Field)]
        self.is_wide = any(field.is_wide for field in fields)
        self.is_whole = any(field.is_whole for field in fields)


def _is_literal(pieces: list[Piece], matrix: dict[str, Field] | None) -> bool:
    return matrix is None and all(isinstance(piece, str) for piece in pieces)


class Layout:
    """A template, taken apart.

    Attributes:
        segments: What stands between the slashes of the path.
        wide: Which of the segments stands for several; `None` if none does.
        has_query: Whether it ends in a query of variables.
        query: The variables of the query.
        fixed: What the query must have besides, as `name=value`.
        fragment: The variable of the fragment, if there is one.

    Raises:
        ValueError: Values cannot be told apart in what the template expands to.
    """

    def __init__(self, template: ParsedTemplate, kinds: Mapping[str, Kind]) -> None:
        self.query: list[Field] = []
        self.has_query = False
        self.fixed: list[str] = []
        self.fragment: Field | None = None
        self.segments: list[Segment] = []
        self.wide: int | None = None
        self._template = template.template
        self._kinds = kinds
        self._pieces: list[Piece] = []
        self._matrix: dict[str, Field] | None = None
        self._check_names(template.variables)
        path: list[Part] = []
        for part in template.parts:
            if self.fragment is not None:
                raise self._ambiguous("nothing can follow its {#…}")
            if isinstance(part, Expression) and part.operator == "#":
                self._add_fragment(part)
            elif isinstance(part, Expression) and part.operator in ("?", "&"):
                self._add_query(part, path)
            elif self.has_query:
                raise self._ambiguous("only {&…} and {#…} can follow a query")
            else:
                path.append(part)
        self._add_path(path)

    def _ambiguous(self, why: str) -> ValueError:
        return ValueError(f"{self._template} cannot be matched back: {why}")

    def _check_names(self, variables: list[Variable]) -> None:
        """See to it that a variable stands there once, or again by its first characters."""
        seen: dict[str, bool] = {}
        for name, is_exploded, prefix in variables:
            is_whole_again = prefix is None and not seen.get(name, True)
            if name in seen and (is_whole_again or is_exploded or self._kind(name) == "list"):
                raise ValueError(f"{self._template}: the variable {name} stands in it twice")
            seen[name] = prefix is not None and seen.get(name, True)

    def _kind(self, name: str, *, is_exploded: bool = False) -> Kind:
        return self._kinds.get(name, "list" if is_exploded else "text")

    def _field(self, variable: Variable, **where: object) -> Field:
        kind = self._kind(variable.name, is_exploded=variable.is_exploded)
        if kind == "list" and variable.prefix is not None:
            raise self._ambiguous(f"a list has no first characters, as {variable.name} would")
        return Field(variable, kind, **where)  # type: ignore[arg-type]  # fields of Field

    # --- fragment and query

    def _add_fragment(self, expression: Expression) -> None:
        variable, *others = expression.variables
        if others:
            raise self._ambiguous("several variables share {#…}, and their values may have commas")
        self.fragment = self._field(variable, excluded="")

    def _add_query(self, expression: Expression, path: list[Part]) -> None:
        if not self.has_query and expression.operator == "&":
            self._take_fixed(path)
        elif self.has_query and expression.operator == "?":
            raise self._ambiguous("a query begins twice; write {&…} for the rest of it")
        self.has_query = True
        self.query += map(self._named_field, expression.variables)

    def _named_field(self, variable: Variable) -> Field:
        field = self._field(variable)
        if variable.is_exploded and field.kind == "text":
            raise self._ambiguous(
                f"{variable.name}* stands for several values, so its parameter must be a list"
            )
        return field

    def _take_fixed(self, path: list[Part]) -> None:
        """Cut off the query that is written out before a `{&…}`."""
        last = path[-1] if path else None
        if not isinstance(last, str) or "?" not in last:
            raise self._ambiguous(
                "{&…} goes on with a query that is written out before it, as in ?v=1{&page}; "
                "one that is not begins with {?…}"
            )
        before, _, query = last.partition("?")
        self.fixed = [pair for pair in encode_literal(query).split("&") if pair]
        path[-1:] = [before] if before else []

    # --- path

    def _add_path(self, parts: list[Part]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._add_literal(encode_literal(part))
            elif part.operator == ";":
                self._add_matrix(part)
            else:
                self._add_expression(part)
        self._end_segment()

    def _add_literal(self, text: str) -> None:
        first, *others = text.split("/")
        self._add_text(first)
        for segment in others:
            self._end_segment()
            self._add_text(segment)

    def _add_text(self, text: str) -> None:
        if not text:
            return
        self._check_open(text)
        if self._pieces and isinstance(self._pieces[-1], str):
            self._pieces[-1] += text
        else:
            self._pieces.append(text)

    def _add_field(self, field: Field) -> None:
        name = field.variable.name
        self._check_open(f"{{{name}}}")
        last = self._pieces[-1] if self._pieces else None
        if isinstance(last, Field):
            raise self._ambiguous(
                f"nothing tells where {last.variable.name} ends and {name} begins"
            )
        if field.is_wide:
            self._check_only_wide(name)
        self._pieces.append(field)

    def _add_expression(self, expression: Expression) -> None:
        operator, variables = expression
        if operator == "+" and len(variables) > 1:
            raise self._ambiguous("several variables share {+…}, and their values may have commas")
        separator = operator if operator in ("/", ".") else ","
        if len(variables) > 1 and separator != "/" and any(v.is_exploded for v in variables):
            raise self._ambiguous(
                f"an exploded variable shares its braces, and nothing tells which `{separator}` "
                "stands within its value"
            )
        excluded = _ENDS_A_SEGMENT + "/" + ("," if operator == "" and len(variables) > 1 else "")
        for index, variable in enumerate(variables):
            if operator == "/" and variable.is_exploded:
                self._add_whole(variable)
                continue
            if operator == "/":
                self._end_segment()
            elif index > 0 or operator == ".":
                self._add_text(separator)
            is_wide = operator == "+" or (
                operator == ""
                and variable.is_exploded
                and self._kind(variable.name, is_exploded=True) == "text"
            )
            self._add_field(
                self._field(
                    variable,
                    separator="." if operator == "." and variable.is_exploded else ",",
                    excluded="" if is_wide else excluded,
                    is_wide=is_wide,
                )
            )

    def _add_whole(self, variable: Variable) -> None:
        """Add a `{/name*}`, which stands for whole segments."""
        self._end_segment()
        self._add_field(self._field(variable, is_wide=True, is_whole=True))

    def _add_matrix(self, expression: Expression) -> None:
        self._check_open("{;…}")
        self._matrix = {v.name: self._named_field(v) for v in expression.variables}

    def _check_open(self, what: str) -> None:
        """See to it that the segment has not ended by what it has."""
        if self._matrix is not None:
            raise self._ambiguous(f"{what} follows {{;…}}, which must end its segment")
        last = self._pieces[-1] if self._pieces else None
        if isinstance(last, Field) and last.is_whole:
            raise self._ambiguous(
                f"{what} follows {{/{last.variable.name}*}}, after which a slash must come"
            )

    def _check_only_wide(self, name: str) -> None:
        if self.wide is not None or any(isinstance(p, Field) and p.is_wide for p in self._pieces):
            raise self._ambiguous(
                f"{name} takes slashes, and so does a variable before it: nothing tells where one "
                "ends and the other begins"
            )

    def _end_segment(self) -> None:
        segment = Segment(self._pieces, self._matrix)
        self._pieces, self._matrix = [], None
        if segment.is_wide:
            self.wide = len(self.segments)
        self.segments.append(segment)
