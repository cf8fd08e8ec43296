"""Prints what tools, resources and prompts return: text, pictures, sounds, links."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click
from msgspec import UNSET, Struct

from wigwag.client.inline_pictures import inline_picture
from wigwag.client.saved_content import data_in, save_content
from wigwag.client.terminal_lines import visible, visible_lines
from wigwag.schema import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from wigwag.schema.resource_contents import ResourceContents

__all__ = ["Printer", "print_text", "save_option", "size_of"]

_UNITS: Final = ("bytes", "kB", "MB", "GB")

save_option: Final = click.option(
    "--save", metavar="FOLDER", help="Write pictures, sounds and resources to files in it."
)
"""The option `--save`."""


class Printer(Struct, frozen=True):
    """Prints content.

    Attributes:
        folder: Where what is no text is written to; `None` to show what can be shown of it.
        name: What files are called that have no name of their own.
    """

    folder: str | None
    name: str = ""

    def print(self, blocks: Sequence[Any]) -> None:
        """Print blocks of content, or what was read of a resource.

        Raises:
            InvalidResult: One is not in base64, as it should be.
            OSError: A file cannot be written.
        """
        for block in blocks:
            self._print(block)

    def save(self, blocks: Sequence[Any]) -> None:
        """Write what is no text to files, and say on standard error where, for a result as JSON."""
        if self.folder is not None:
            for block in blocks:
                path = save_content(block, self.folder, name=self._name(block))
                if path is not None:
                    click.echo(f"wigwag: wrote {path}", err=True)

    def _print(self, block: Any) -> None:
        if self.folder is not None:
            path = save_content(block, self.folder, name=self._name(block))
            if path is not None:
                click.echo(os.fspath(path))
                return
        match block:
            case TextContent():
                print_text(_as_read(block.text))
            case ResourceLink():
                click.echo(_link(block))
            case EmbeddedResource():
                self._print_resource(block.resource)
            case ResourceContents():
                self._print_resource(block)
            case ImageContent():
                self._print_picture(block, block.mime_type)
            case AudioContent():
                click.echo(_what_there_is("sound", block.mime_type, data_in(block)))
            case _:
                click.echo(f"[{visible(str(getattr(block, 'type', 'unknown content')))}]")

    def _print_resource(self, resource: ResourceContents) -> None:
        if resource.blob is UNSET:
            print_text("" if resource.text is UNSET else resource.text)
        else:
            kind = "" if resource.mime_type is UNSET else resource.mime_type
            self._print_picture(resource, kind or "application/octet-stream")

    def _print_picture(self, block: Any, mime_type: str) -> None:
        data = data_in(block) or b""
        is_picture = mime_type.startswith("image/")
        shown = inline_picture(data) if is_picture and sys.stdout.isatty() else None
        if shown is None:
            click.echo(_what_there_is("picture" if is_picture else "data", mime_type, data))
        else:
            sys.stdout.write(shown)

    def _name(self, block: Any) -> str:
        has_own = isinstance(block, EmbeddedResource | ResourceContents)
        return "" if has_own else self.name


def print_text(text: str) -> None:
    """Print text: at a terminal without what would control it, in a pipe as it is."""
    click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=not text.endswith("\n"))


def size_of(amount: int) -> str:
    """Return how many bytes there are, for a person.

    >>> size_of(512), size_of(12_345)
    ('512 bytes', '12 kB')
    """
    size, unit = float(amount), 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 or size >= 10 else f"{size:.1f} {_UNITS[unit]}"


def _as_read(text: str) -> str:
    """Return text such that a person reads it well: JSON in lines, at a terminal."""
    if not sys.stdout.isatty() or text[:1] not in ("{", "["):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _link(link: ResourceLink) -> str:
    title = link.name if link.title is UNSET else link.title
    facts = [] if link.mime_type is UNSET else [visible(link.mime_type)]
    facts += [] if link.size is UNSET else [size_of(link.size)]
    behind = f" ({', '.join(facts)})" if facts else ""
    return f"[link: {visible(title)}] {visible(link.uri)}{behind}"


def _what_there_is(what: str, mime_type: str, data: bytes | None) -> str:
    """Return what stands in the place of what cannot be shown."""
    size = size_of(len(data or b""))
    return f"[{what}: {visible(mime_type)}, {size}; --save FOLDER writes it to a file]"
