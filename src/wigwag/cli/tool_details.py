"""Shows all that is known of a tool or a prompt: what it is for, what it takes, what it does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click
from msgspec import UNSET

from wigwag.cli.output import styled
from wigwag.cli.tables import print_table
from wigwag.client.argument_values import shape_of
from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.client.tool_arguments import argument_schemas, required_arguments
from wigwag.schema import Prompt, Tool

__all__ = ["print_prompt", "print_tool"]

# Of a schema, what limits a value, and what it is called for a person.
_LIMITS: Final = {
    "format": "{}",
    "pattern": "like {}",
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}
_MAX_LISTS: Final = 3


def print_tool(tool: Tool) -> None:
    """Print what a tool is for, and what it takes and returns."""
    _print_heading(tool)
    schemas = argument_schemas(tool.input_schema)
    required = required_arguments(tool.input_schema)
    rows = [
        (name, _kind(schema, tool.input_schema), _description(schema, is_required=name in required))
        for name, schema in schemas.items()
    ]
    _print_arguments(rows)
    if tool.output_schema is not UNSET:
        names = ", ".join(argument_schemas(tool.output_schema))
        shape = _kind(tool.output_schema, tool.output_schema)
        click.echo(f"Returns {visible(shape)}{f': {visible(names)}' if names else ''}")
    hints = ", ".join(_hints(tool))
    if hints:
        click.echo(f"It says of itself: {hints}")


def print_prompt(prompt: Prompt) -> None:
    """Print what a prompt is for, and what it takes."""
    _print_heading(prompt)
    rows = []
    for argument in prompt.arguments or []:
        about = "" if argument.description is UNSET else argument.description
        is_required = argument.required is True
        rows.append((argument.name, "", about if is_required else f"(may be left out) {about}"))
    _print_arguments(rows)


def _print_heading(feature: Tool | Prompt) -> None:
    title = "" if feature.title is UNSET else f"  {visible(feature.title)}"
    click.echo(f"{styled(visible(feature.name), sys.stdout, bold=True)}{title}")
    if feature.description is not UNSET and feature.description.strip():
        click.echo()
        for line in visible_lines(feature.description.strip()).split("\n"):
            click.echo(f"  {line}".rstrip())
    click.echo()


def _print_arguments(rows: list[tuple[str, str, str]]) -> None:
    if rows:
        print_table("Arguments", rows)
    else:
        click.echo("It takes no arguments")


def _kind(schema: Any, root: Any, depth: int = 0) -> str:
    """Return what a value is, in few words."""
    if not isinstance(schema, Mapping):
        return "anything"
    if depth > _MAX_LISTS:  # a list may be one of itself
        return "…"
    shape = shape_of(schema, root)
    if isinstance(shape.get("enum"), list):
        return " | ".join(map(_written, shape["enum"]))
    if "const" in shape:
        return _written(shape["const"])
    kind = shape.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(shape.get('items', {}), root, depth + 1)}"
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _description(schema: Any, *, is_required: bool) -> str:
    if not isinstance(schema, Mapping):
        return ""
    notes = [] if is_required else ["may be left out"]
    if "default" in schema and schema["default"] is not None:
        notes = [f"{_written(schema['default'])} unless given"]
    notes += [words.format(schema[key]) for key, words in _LIMITS.items() if key in schema]
    about = str(schema.get("description") or schema.get("title") or "")
    return f"({', '.join(notes)}) {about}" if notes else about


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _hints(tool: Tool) -> Iterator[str]:
    """Iterate over what a tool says of itself; nobody vouches for it."""
    hints = tool.annotations
    if hints is not UNSET:
        if hints.read_only_hint is True:
            yield "it only reads"
        if hints.destructive_hint is True:
            yield "what it changes may be lost"
        if hints.idempotent_hint is True:
            yield "twice is the same as once"
        if hints.open_world_hint is True:
            yield "it reaches beyond the server"
    if tool.execution is not UNSET and tool.execution.task_support not in (UNSET, "forbidden"):
        yield f"it may run as a task ({tool.execution.task_support})"
