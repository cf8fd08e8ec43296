"""Arguments of tools and prompts, out of words such as a person types at a command line.

Spec: server/tools#calling-tools
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import UNSET

from wigwag.client.argument_values import read_json, read_value, shape_of
from wigwag.client.merged_names import did_you_mean
from wigwag.schema import Prompt, Tool

__all__ = [
    "argument_schemas",
    "find_named",
    "prompt_arguments",
    "required_arguments",
    "tool_arguments",
]

N = TypeVar("N", Tool, Prompt)

# The name ends at the first of the two.
_ARGUMENT: Final = re.compile(r"(?P<name>[^=]+?)(?P<mark>:=|=)(?P<value>.*)", re.DOTALL)
_STANDARD_INPUT: Final = "-"
_SHOWN_NAMES: Final = 12
# A tool with one of these at its root may take more than the properties beside it.
_OPEN: Final = ("patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas")

Read = Callable[[str], bytes]
"""Returns what is in a file; of `-`, what is on the standard input."""


def read_source(name: str) -> bytes:
    """Return what is in a file; of `-`, what is on the standard input.

    Raises:
        OSError: It cannot be read.
    """
    if name == _STANDARD_INPUT:
        return sys.stdin.buffer.read()
    return Path(name).expanduser().read_bytes()


def tool_arguments(
    words: Sequence[str], tool: Tool, *, read: Read = read_source, check: bool = True
) -> dict[str, Any]:
    """Return the arguments of a tool that a person has typed.

    Each word is one of these:

    - `name=text`: a value as the tool's input schema has it, such as `limit=3`. The name again
      adds to a list.
    - `name:=json`: a value as JSON, such as `near:=[52.5,13.4]`.
    - `name=@file`, `name:=@file`: the same, with the text of a file; `@-` is the standard input,
      and `name=@@text` is text that begins with `@`.
    - `{…}`, `@file` or `-`: a JSON object with any number of arguments.

    Args:
        words: The words.
        tool: The tool, as the server has listed it.
        read: Returns what is in a file.
        check: Whether the arguments have to be those that the tool takes.

    Raises:
        ValueError: They make no sense; the text names the argument, and the nearest that there is.
    """
    schema = tool.input_schema
    reading = _Reading(schema, f"the tool {tool.name!r}", read)
    arguments = reading.read(words)
    if check:
        reading.check(arguments)
    return arguments


def prompt_arguments(
    words: Sequence[str], prompt: Prompt, *, read: Read = read_source, check: bool = True
) -> dict[str, str]:
    """Return the arguments of a prompt that a person has typed; see `tool_arguments`.

    Args:
        words: The words; the values of prompts are text.
        prompt: The prompt, as the server has listed it.
        read: Returns what is in a file.
        check: Whether the arguments have to be those that the prompt takes.

    Raises:
        ValueError: They make no sense; the text names the argument, and the nearest that there is.
    """
    taken = prompt.arguments or []
    schema = {
        "properties": {argument.name: {"type": "string"} for argument in taken},
        "required": [argument.name for argument in taken if argument.required is True],
    }
    reading = _Reading(schema, f"the prompt {prompt.name!r}", read)
    arguments = reading.read(words)
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ValueError(f"{name}: the arguments of prompts are text")
    if check:
        reading.check(arguments)
    return arguments


def find_named(name: str, features: Sequence[N]) -> N:
    """Return the tool or prompt of a name.

    Raises:
        ValueError: There is none; the text has the nearest, or all that there are.
    """
    for feature in features:
        if feature.name == name:
            return feature
    kind = "prompt" if features and isinstance(features[0], Prompt) else "tool"
    names = [feature.name for feature in features]
    raise ValueError(f"there is no {kind} {name!r}{_near_or_all(name, names)}")


def argument_schemas(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of each argument of a tool, in order, given its input schema."""
    properties = schema.get("properties")
    return dict(properties) if isinstance(properties, Mapping) else {}


def required_arguments(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments that a tool needs, given its input schema."""
    required = schema.get("required")
    named = required if isinstance(required, list) else []
    return [name for name in named if isinstance(name, str)]


class _Reading:
    """Reads the arguments of one tool or prompt.

    Args:
        schema: What it takes.
        taker: What it is, in words.
        read: Returns what is in a file.
    """

    def __init__(self, schema: Mapping[str, Any], taker: str, read: Read) -> None:
        self._schema = schema
        self._schemas = argument_schemas(schema)
        self._required = required_arguments(schema)
        self._taker = taker
        self._read = read

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for word in words:
            if word == _STANDARD_INPUT or word.startswith(("{", "@")):
                arguments.update(self._object(word))
                continue
            found = _ARGUMENT.fullmatch(word)
            if found is None:
                raise ValueError(f"{word!r} is no argument: {self._how_to_write(word)}")
            name = found["name"].strip()
            if found["mark"] == ":=":
                arguments[name] = self._json(name, found["value"])
            else:
                self._add(arguments, name, found["value"])
        return arguments

    def check(self, arguments: Mapping[str, Any]) -> None:
        """See whether these are the arguments that it takes.

        Raises:
            ValueError: They are not.
        """
        if not self._takes_any():
            for name in arguments:
                if name not in self._schemas:
                    raise ValueError(
                        f"{self._taker} has no argument {name!r}"
                        f"{_near_or_all(name, self._schemas, takes=True)}"
                    )
        missing = [name for name in self._required if name not in arguments]
        if missing:
            needs = " ".join(f"{name}=…" for name in missing)
            raise ValueError(f"{self._taker} needs {needs}")
        if find_spec("jsonschema_rs") is not None:
            self._hold_to_schema(arguments)

    def _hold_to_schema(self, arguments: Mapping[str, Any]) -> None:
        from wigwag.schema.json_schema import make_check  # noqa: PLC0415 - only where it is there

        try:
            problem = make_check(dict(self._schema), formats=False)(dict(arguments))
        except ValueError:  # the schema is none, which is for the server to know
            return
        if problem is not None:
            raise ValueError(f"{self._taker} does not take this: {problem}")

    def _takes_any(self) -> bool:
        more = self._schema.get("additionalProperties", UNSET)
        if more is True or isinstance(more, Mapping):
            return True
        has_named = "properties" in self._schema or more is False
        return not has_named or any(keyword in self._schema for keyword in _OPEN)

    def _object(self, word: str) -> dict[str, Any]:
        text = word if word.startswith("{") else self._text(word.removeprefix("@"), "the arguments")
        try:
            value = read_json(text)
        except ValueError as error:
            raise ValueError(f"the arguments: {error}") from None
        if not isinstance(value, dict):
            raise ValueError('the arguments are a JSON object, as in {"name": "value"}')
        return value

    def _json(self, name: str, value: str) -> Any:
        text = self._text(value.removeprefix("@"), name) if value.startswith("@") else value
        try:
            return read_json(text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}; text is written {name}=…") from None

    def _add(self, arguments: dict[str, Any], name: str, value: str) -> None:
        schema = self._schemas.get(name, {})
        text = self._value(name, value, schema)
        try:
            found = read_value(text, schema, self._schema)
        except ValueError as error:
            raise ValueError(f"{name} is {error}; not {_excerpt(text)}") from None
        before = arguments.get(name)
        if isinstance(before, list) and isinstance(found, list):
            found = [*before, *found]
        elif name in arguments:
            raise ValueError(f"{name} is there twice, and is no list")
        arguments[name] = found

    def _value(self, name: str, value: str, schema: Any) -> str:
        if value.startswith("@@"):
            return value[1:]
        if not value.startswith("@"):
            return value
        if shape_of(schema, self._schema).get("contentEncoding") == "base64":
            return base64.b64encode(self._bytes(value[1:], name)).decode()
        return self._text(value[1:], name)

    def _text(self, source: str, what: str) -> str:
        try:
            return self._bytes(source, what).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{what}: {source} holds no text in UTF-8") from None

    def _bytes(self, source: str, what: str) -> bytes:
        try:
            return self._read(source)
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "" if what == "the arguments" else f"; the text itself is {what}=@@{source}"
            raise ValueError(f"{what}: cannot read the file {source!r}: {reason}{hint}") from None

    def _how_to_write(self, word: str) -> str:
        name = next(iter([*self._required, *self._schemas]), "name")
        if not self._schemas and not self._takes_any():
            return f"{self._taker} takes none"
        shown = word if re.fullmatch(r"[\w./:@-]+", word) else repr(word)
        return f"write name=value, for example {name}={shown}"


def _near_or_all(name: str, known: Iterable[str], *, takes: bool = False) -> str:
    """Return the end of a sentence about a name that is not known."""
    known = list(known)
    near = did_you_mean(name, known)
    if near:
        return near
    if not known:
        return "; it takes none" if takes else "; there are none"
    more = ", …" if len(known) > _SHOWN_NAMES else ""
    listed = ", ".join(known[:_SHOWN_NAMES]) + more
    return f"; it takes {listed}" if takes else f"; there are {listed}"


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
