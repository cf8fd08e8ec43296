"""Values held to JSON Schemas that somebody has written: 2020-12, and the drafts before it.

The work is done by the optional jsonschema-rs. No reference to another document is ever followed.
Spec: basic#json-schema-usage
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from wigwag.schema.base import JSONObject

_logger = logging.getLogger("wigwag.schema")

MAX_PROBLEMS: Final = 5
MAX_PROBLEM_CHARACTERS: Final = 200

# No list is that long; and Python refuses to read very long numbers.
_MAX_DIGITS: Final = 9

Check = Callable[[Any], str | None]
"""Says what is wrong with a value; `None` when it is as the schema wants it."""


def make_check(schema: JSONObject, *, formats: bool = True) -> Check:
    """Return what holds values to a schema.

    Without jsonschema-rs, nothing is ever wrong with them; the log says so once.

    Args:
        schema: The schema.
        formats: Whether a `format` is a demand, or but a remark, as most drafts have it.

    Raises:
        ValueError: It is no JSON Schema, or needs another document; the text says where.
    """
    rust = _jsonschema_rs()
    if rust is None:
        return lambda value: None
    try:
        # Offline: otherwise a `$ref` to an address would be fetched.
        validator = rust.validator_for(schema, offline=True, validate_formats=formats)
    except ValueError as error:
        raise ValueError(_shortened(str(error).partition("\n")[0])) from None

    def check(value: Any) -> str | None:
        problems: list[str] = []
        try:
            for error in validator.iter_errors(value):
                if len(problems) == MAX_PROBLEMS:
                    problems.append("and more")
                    break
                problems.append(_describe(error))
        except ValueError as error:  # nested deeper than is looked at
            problems.append(_shortened(str(error)))
        return "; ".join(problems) or None

    return check


def follow(steps: Iterable[str], document: Any) -> Any:
    """Return what the steps of a JSON Pointer lead to, as those of a `$ref` within a schema.

    >>> follow(["$defs", "a~1b", "0"], {"$defs": {"a/b": ["found"]}})
    'found'

    Raises:
        LookupError: They lead nowhere.
    """
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document[key]
        elif isinstance(document, list) and key.isdecimal() and len(key) <= _MAX_DIGITS:
            document = document[int(key)]
        else:
            raise LookupError(key)
    return document


@cache
def _jsonschema_rs() -> Any:
    try:
        import jsonschema_rs  # noqa: PLC0415 - only schemas that are written by hand need it
    except ImportError:
        _logger.warning(
            "hand-written JSON Schemas are published but not enforced: "
            "install wigwag[schema] to have values checked against them"
        )
        return None
    return jsonschema_rs


def _describe(error: Any) -> str:
    place = ".".join(map(str, error.instance_path))
    text = _shortened(error.message)
    return f"`{place}`: {text}" if place else text


def _shortened(text: str) -> str:
    """Keep a text short: it may quote the whole value."""
    if len(text) <= MAX_PROBLEM_CHARACTERS:
        return text
    half = MAX_PROBLEM_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"
