"""The fields of a form that a server wants filled in, and what a person types into them.

Spec: client/elicitation#supported-schema-types
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

from wigwag.schema.elicitation import ElicitValue

Kind = Literal["text", "number", "integer", "boolean", "one", "several"]

_WORDS_FOR_YES: Final = ("y", "yes", "true")
_WORDS_FOR_NO: Final = ("n", "no", "false")
_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
# Longer ones are a mistake, and Python reads them slowly or not at all.
_MAX_DIGITS: Final = 300


class Option(Struct, frozen=True):
    """A value to choose, and what is shown of it."""

    value: str
    label: str


class FormField(Struct, frozen=True, kw_only=True):
    """One field of a form.

    Attributes:
        name: Its key in the answer.
        title: What it is called.
        description: What it is about; may be empty.
        is_required: Whether the form wants it filled in.
        kind: What goes into it.
        options: What can be chosen, where it is `one` or `several`.
        limits: Its schema, which may have lengths, bounds and a format.
        default: What is filled in already.
    """

    name: str
    title: str
    description: str
    is_required: bool
    kind: Kind
    options: Sequence[Option] = ()
    limits: Mapping[str, Any] = {}
    default: ElicitValue | UnsetType = UNSET

    def read(self, text: str) -> ElicitValue:
        """Return the value that a person has typed.

        Raises:
            ValueError: It does not fit; the text says what would.
        """
        match self.kind:
            case "text":
                return _text(text, self.limits)
            case "number" | "integer":
                return _number(text, self.kind, self.limits)
            case "boolean":
                return _yes_or_no(text)
            case "one":
                return self._chosen(text)
            case "several":
                return self._several(text)

    def show(self, value: ElicitValue) -> str:
        """Return a value as a person would read it."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(self._label(each) for each in value) or "none"
        return self._label(value) if isinstance(value, str) else str(value)

    def _label(self, value: str) -> str:
        return next((each.label for each in self.options if each.value == value), value)

    def _chosen(self, text: str) -> str:
        if _INTEGER.fullmatch(text) and len(text) < _MAX_DIGITS:
            if 1 <= int(text) <= len(self.options):
                return self.options[int(text) - 1].value
        else:
            for option in self.options:
                if text in (option.value, option.label):
                    return option.value
        raise ValueError(f"choose a number from 1 to {len(self.options)}")

    def _several(self, text: str) -> list[str]:
        least, most = self.limits.get("minItems", 0), self.limits.get("maxItems", math.inf)
        pieces = [] if text == "none" else [each for each in re.split(r"[,\s]+", text) if each]
        chosen = list(dict.fromkeys(self._chosen(piece) for piece in pieces))
        if len(chosen) < least:
            raise ValueError(f"choose at least {least}")
        if len(chosen) > most:
            raise ValueError(f"choose at most {most}")
        return chosen


def fields_of(schema: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a form, in order.

    Raises:
        ValueError: One is of a kind that the protocol does not have.
    """
    required = schema.get("required", ())
    return [
        _field(name, field, is_required=name in required)
        for name, field in schema.get("properties", {}).items()
    ]


def _field(name: str, schema: Any, *, is_required: bool) -> FormField:
    if not isinstance(schema, Mapping):
        raise ValueError(f"the field {name!r} has no schema")
    kind, options = _kind_of(name, schema)
    field = FormField(
        name=name,
        title=_words(schema, "title") or name,
        description=_words(schema, "description"),
        is_required=is_required,
        kind=kind,
        options=options,
        limits=schema,
    )
    default = schema.get("default", UNSET)
    if default is UNSET or not _may_be(field, default):
        return field
    return msgspec.structs.replace(field, default=default)


def _kind_of(name: str, schema: Mapping[str, Any]) -> tuple[Kind, Sequence[Option]]:
    match schema.get("type"):
        case "array":
            return "several", _options(name, schema.get("items"))
        case "string" if "enum" in schema or "oneOf" in schema:
            return "one", _options(name, schema)
        case "string":
            return "text", ()
        case "number":
            return "number", ()
        case "integer":
            return "integer", ()
        case "boolean":
            return "boolean", ()
    raise ValueError(f"the field {name!r} is of a kind that nobody can fill in")


def _options(name: str, schema: Any) -> list[Option]:
    if isinstance(schema, Mapping):
        titled = schema.get("oneOf", schema.get("anyOf"))
        if isinstance(titled, list) and titled:
            return [_titled(name, each) for each in titled]
        values = schema.get("enum")
        if isinstance(values, list) and values:
            labels = schema.get("enumNames", values)
            if not isinstance(labels, list) or len(labels) != len(values):
                labels = values
            pairs = zip(values, labels, strict=True)
            return [Option(str(value), str(label)) for value, label in pairs]
    raise ValueError(f"the field {name!r} has nothing to choose from")


def _titled(name: str, option: Any) -> Option:
    if not isinstance(option, Mapping) or "const" not in option:
        raise ValueError(f"the field {name!r} has a choice without a value")
    return Option(str(option["const"]), str(option.get("title", option["const"])))


def _words(schema: Mapping[str, Any], key: str) -> str:
    text = schema.get(key, "")
    return text if isinstance(text, str) else ""


def _may_be(field: FormField, value: Any) -> bool:
    """Tell whether a default is one that a person could have typed."""
    values = [each.value for each in field.options]
    match field.kind:
        case "text":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "one":
            return value in values
        case "several":
            return isinstance(value, list) and all(each in values for each in value)
        case _:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return is_number and (field.kind == "number" or value == int(value))


def _text(text: str, limits: Mapping[str, Any]) -> str:
    least, most = limits.get("minLength", 0), limits.get("maxLength", math.inf)
    if len(text) < least:
        raise ValueError(f"at least {least} characters, not {len(text)}")
    if len(text) > most:
        raise ValueError(f"at most {most} characters, not {len(text)}")
    match limits.get("format"):
        case "email" if not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
            raise ValueError("an email address, such as ada@example.com")
        case "uri" if not _is_uri(text):
            raise ValueError("an address, such as https://example.com")
        case "date" if not _is_date(text):
            raise ValueError("a date, such as 2026-01-31")
        case "date-time" if not _is_date_time(text):
            raise ValueError("a date with time and zone, such as 2026-01-31T14:30:00+01:00")
    return text


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and (parts.netloc or parts.path)) and not re.search(r"\s", text)


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text  # not the other forms of ISO 8601
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    try:
        return text[10:11] in ("T", "t") and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _number(text: str, kind: str, limits: Mapping[str, Any]) -> int | float:
    form, what = (_INTEGER, "a whole number") if kind == "integer" else (_NUMBER, "a number")
    if not form.fullmatch(text) or len(text) > _MAX_DIGITS:
        raise ValueError(what)
    value = int(text) if _INTEGER.fullmatch(text) else float(text)
    if not math.isfinite(value):
        raise ValueError("a smaller number")
    if "minimum" in limits and value < limits["minimum"]:
        raise ValueError(f"at least {limits['minimum']}")
    if "maximum" in limits and value > limits["maximum"]:
        raise ValueError(f"at most {limits['maximum']}")
    return value


def _yes_or_no(text: str) -> bool:
    word = text.lower()
    if word in _WORDS_FOR_YES:
        return True
    if word in _WORDS_FOR_NO:
        return False
    raise ValueError("yes or no")
