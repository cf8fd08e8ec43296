"""What may be typed next in the shell: commands, names of what a server offers, and values."""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from wigwag import UriTemplate
from wigwag.cli.call import call_command
from wigwag.cli.complete import complete_command
from wigwag.cli.info import info_command
from wigwag.cli.list import list_command
from wigwag.cli.listen import listen_command
from wigwag.cli.offered import KINDS, Offered, name_of
from wigwag.cli.ping import ping_command
from wigwag.cli.prompt import prompt_command
from wigwag.cli.read import read_command
from wigwag.cli.server_commands import ServerCommand, in_shell
from wigwag.client.argument_values import shape_of
from wigwag.client.tool_arguments import argument_schemas
from wigwag.errors import McpError
from wigwag.schema import PromptReference, ResourceTemplateReference, Tool

__all__ = ["SHELL_COMMANDS", "Suggestion", "suggestions"]

SHELL_COMMANDS: Final[Mapping[str, ServerCommand]] = {
    "list": list_command,
    "call": call_command,
    "read": read_command,
    "prompt": prompt_command,
    "complete": complete_command,
    "listen": listen_command,
    "info": info_command,
    "ping": ping_command,
}
_OTHERS: Final = ("help", "exit")


class Suggestion(NamedTuple):
    """Something that may be typed.

    Attributes:
        text: The word.
        about: What it is; may be empty.
    """

    text: str
    about: str = ""


async def suggestions(offered: Offered, text: str) -> tuple[str, list[Suggestion]]:
    """Return the word that is being typed at the end of a line, and what it may become.

    Nothing is suggested inside of quotes, or when the server does not answer.

    Args:
        offered: What the server offers.
        text: The line up to the cursor.
    """
    try:
        before = shlex.split(text)
    except ValueError:  # a quote is open
        return "", []
    word = "" if not text or text[-1].isspace() else text.split()[-1]
    if word:
        before = before[:-1]
    try:
        found = [each async for each in _next(offered, before, word)]
    except McpError:
        found = []
    return word, [each for each in found if _may_follow(each.text, word)]


def _may_follow(text: str, word: str) -> bool:
    return text.startswith(word) and text != word and text.isprintable()


async def _next(offered: Offered, before: list[str], word: str) -> AsyncIterator[Suggestion]:
    """Iterate over what may stand behind these words."""
    if not before:
        for name, command in SHELL_COMMANDS.items():
            yield Suggestion(name, (command.help or "").partition("\n")[0])
        for suggestion in await _features(offered, "tools"):
            yield suggestion
        for other in _OTHERS:
            yield Suggestion(other)
        return
    name, *given = before
    if name not in (*SHELL_COMMANDS, "help"):
        name, given = "call", before
    if word.startswith("-"):
        for option in _options(name):
            yield option
        return
    positional = [each for each in given if not each.startswith("-")]
    for suggestion in await _WORDS[name](offered, positional, word):
        yield suggestion


def _options(command: str) -> Iterable[Suggestion]:
    if command in SHELL_COMMANDS:
        for param in in_shell(SHELL_COMMANDS[command]).params:
            about = getattr(param, "help", "") or ""
            for option in param.opts:
                if option.startswith("--"):
                    yield Suggestion(option, about)


async def _features(offered: Offered, *kinds: str) -> list[Suggestion]:
    return [
        Suggestion(name_of(each), _about(each))
        for kind in kinds
        for each in await offered.features(kind)
    ]


def _about(feature: Any) -> str:
    text = feature.title if feature.description is UNSET else feature.description
    return "" if text is UNSET else text.strip().partition("\n")[0]


async def _for_list(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    return [*map(Suggestion, KINDS), *await _features(offered, *KINDS)]


async def _for_call(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    if not given:
        return await _features(offered, "tools")
    tool = await offered.named("tools", given[0])
    if tool is None:
        return []
    name, equals, _ = word.partition("=")
    schemas = argument_schemas(tool.input_schema)
    if equals:
        return _values(tool, name, schemas.get(name))
    return [
        Suggestion(f"{each}=", _described(schema))
        for each, schema in schemas.items()
        if not _is_given(each, given) or _is_list(tool, schema)
    ]


def _values(tool: Tool, name: str, schema: Any) -> list[Suggestion]:
    """Return the values that an argument may have, where they are listed."""
    shape = shape_of(schema, tool.input_schema)
    if shape.get("type") == "array":
        shape = shape_of(shape.get("items"), tool.input_schema)
    values = shape.get("enum", [True, False] if shape.get("type") == "boolean" else [])
    return [Suggestion(f"{name}={_typed(value)}") for value in values]


def _typed(value: Any) -> str:
    """Return a value as it is typed, in quotes if need be."""
    return shlex.quote(value if isinstance(value, str) else json.dumps(value))


def _is_list(tool: Tool, schema: Any) -> bool:
    return shape_of(schema, tool.input_schema).get("type") == "array"


def _described(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return str(text).partition("\n")[0]


def _is_given(name: str, given: Sequence[str]) -> bool:
    return any(word.partition("=")[0].removesuffix(":") == name for word in given[1:])


async def _for_read(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    if not given:
        return await _features(offered, "resources", "templates")
    return await _for_template(offered, given, word)


async def _for_template(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    template = await offered.named("templates", given[0])
    if template is None:
        return []
    reference = ResourceTemplateReference(uri=given[0])
    names = dict.fromkeys(UriTemplate(given[0]).names, "")
    return await _completed(offered, reference, names, given, word)


async def _for_prompt(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    if not given:
        return await _features(offered, "prompts")
    prompt = await offered.named("prompts", given[0])
    if prompt is None:
        return []
    names = {each.name: each.description or "" for each in prompt.arguments or []}
    return await _completed(offered, PromptReference(name=given[0]), names, given, word)


async def _for_complete(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    if not given:
        return await _features(offered, "prompts", "templates")
    of_prompt = await _for_prompt(offered, given, word)
    return of_prompt or await _for_template(offered, given, word)


async def _completed(
    offered: Offered,
    reference: PromptReference | ResourceTemplateReference,
    names: Mapping[str, str],
    given: list[str],
    word: str,
) -> list[Suggestion]:
    """Return the names of arguments; or, behind one, the values that the server offers."""
    name, equals, typed = word.partition("=")
    if not equals:
        return [
            Suggestion(f"{each}=", about)
            for each, about in names.items()
            if not _is_given(each, given)
        ]
    if offered.client.capabilities.completions is UNSET:
        return []
    known = dict(pair.split("=", 1) for pair in given[1:] if "=" in pair)
    result = await offered.client.complete(reference, name, typed, context=known or None)
    return [Suggestion(f"{name}={_typed(value)}") for value in result.completion.values]


async def _for_nothing(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    return []


async def _for_help(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    return [] if given else [Suggestion(name) for name in SHELL_COMMANDS]


async def _for_listen(offered: Offered, given: list[str], word: str) -> list[Suggestion]:
    return await _features(offered, "resources")


_WORDS: Final[Mapping[str, Callable[[Offered, list[str], str], Awaitable[list[Suggestion]]]]] = {
    "list": _for_list,
    "call": _for_call,
    "read": _for_read,
    "prompt": _for_prompt,
    "complete": _for_complete,
    "listen": _for_listen,
    "info": _for_nothing,
    "ping": _for_nothing,
    "help": _for_help,
}
