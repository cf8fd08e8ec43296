"""`wigwag read`, which reads resources."""

from __future__ import annotations

import difflib
import sys

import click
import msgspec
from msgspec import UNSET

from wigwag import Client, UriTemplate
from wigwag.cli.contents import Printer, save_option
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.offered import Offered
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command
from wigwag.client.merged_names import may_be_of_template
from wigwag.client.saved_content import data_in
from wigwag.errors import RequestFailed
from wigwag.schema.resource_contents import ResourceContents

__all__ = ["read_command"]


@server_command("read", save_option, words="URI [NAME=VALUE]...", talks=True)
async def read_command(
    conversation: Conversation, words: list[str], *, as_json: bool, save: str | None
) -> ExitCode | None:
    r"""Read a resource.

    The URI may be a resource template, with the values of its variables behind it.

    \b
        wigwag read server.py docs://index
        wigwag read server.py 'docs://{page}' page=install
        wigwag read server.py docs://logo > logo.png
        wigwag read server.py docs://logo --save .
    """
    client = conversation.client
    if not words:
        raise ValueError(await _which(client))
    uri = _uri_of(words)
    try:
        # Else what a server tells about progress would not be asked for.
        result = await client.read_resource(uri, on_progress=conversation.notices.progress)
    except RequestFailed as error:
        near = await _near(client, uri)
        if not near:
            raise
        raise RequestFailed(error.code, f"{error.message}{near}", error.data) from None
    conversation.notices.clear()
    printer = Printer(save)
    if as_json:
        printer.save(result.contents)
        print_json(msgspec.to_builtins(result))
    elif save is None and not sys.stdout.isatty():
        _write_as_it_is(result.contents)
    else:
        printer.print(result.contents)
    return None


def _uri_of(words: list[str]) -> str:
    """Return the URI that the words name.

    Raises:
        ValueError: A template lacks values, or has too many.
    """
    uri, *given = words
    values: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ValueError(f"unexpected: {word}")
        values[name] = value
    if not values and "{" not in uri:
        return uri
    template = UriTemplate(uri)
    names = template.names
    for name in values:
        if name not in names:
            known = ", ".join(names) or "none"
            raise ValueError(f"the template has no variable {name!r}; it has {known}")
    missing = [name for name in names if name not in values]
    if missing and not values:
        needs = " ".join(f"{name}=…" for name in missing)
        raise ValueError(f"{uri} is a template: put {needs} behind it")
    return template.expand(values)


async def _which(client: Client) -> str:
    """Return the question which resource, with what there is."""
    offered = Offered(client)
    known = [*await offered.names("resources"), *await offered.names("templates")]
    return f"say which resource: {', '.join(known) or 'none is listed'}"


async def _near(client: Client, uri: str) -> str:
    """Return the end of a sentence about a URI that a server does not have."""
    offered = Offered(client)
    if any(may_be_of_template(uri, each) for each in await offered.names("templates")):
        return ""
    uris = await offered.names("resources")
    near = [] if uri in uris else difflib.get_close_matches(uri, uris, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _write_as_it_is(contents: list[ResourceContents]) -> None:
    """Write what was read byte for byte, for a file or a program."""
    for content in contents:
        data = data_in(content)
        sys.stdout.buffer.write(data or b"")
    if len(contents) == 1 and contents[0].blob is UNSET and contents[0].text is UNSET:
        click.echo("wigwag: there is nothing in it", err=True)
