"""`wigwag complete`, which asks how an argument may go on."""

from __future__ import annotations

import click
import msgspec

from wigwag import Client
from wigwag.cli.contents import print_text
from wigwag.cli.conversations import Conversation
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.offered import Offered
from wigwag.cli.output import print_json
from wigwag.cli.server_commands import server_command
from wigwag.client.merged_names import did_you_mean
from wigwag.schema import PromptReference, ResourceTemplateReference

__all__ = ["complete_command", "reference_to"]


@server_command("complete", words="PROMPT|TEMPLATE NAME[=TYPED] [NAME=VALUE]...")
async def complete_command(
    conversation: Conversation, words: list[str], *, as_json: bool
) -> ExitCode | None:
    r"""Ask how an argument of a prompt or a resource template may go on.

    What is typed so far stands behind the name of the argument; the arguments that are known
    already, behind that.

    \b
        wigwag complete server.py triage ticket_id=KITE
        wigwag complete server.py 'docs://{lang}/{page}' page=inst lang=en
    """
    if len(words) < 2:
        raise ValueError("say of what, and which argument, as in `triage ticket_id=KITE`")
    of, typed, *known = words
    name, _, value = typed.partition("=")
    context = dict(_pair(word) for word in known)
    reference = await reference_to(conversation.client, of)
    result = await conversation.client.complete(reference, name, value, context=context or None)
    completion = result.completion
    if as_json:
        print_json(msgspec.to_builtins(completion))
        return None
    for each in completion.values:
        print_text(each)
    if completion.has_more is True:
        total = completion.total if isinstance(completion.total, int) else None
        more = "more" if total is None else f"{total - len(completion.values)} more"
        click.echo(f"wigwag: there are {more}", err=True)
    return None


async def reference_to(client: Client, name: str) -> PromptReference | ResourceTemplateReference:
    """Return the reference to a prompt or a resource template, by its name or its URI.

    Raises:
        ValueError: There is none.
    """
    offered = Offered(client)
    prompts = await offered.names("prompts")
    if name in prompts:
        return PromptReference(name=name)
    for template in await offered.features("templates"):
        if name in (template.uri_template, template.name):
            return ResourceTemplateReference(uri=template.uri_template)
    known = [*prompts, *await offered.names("templates")]
    near = did_you_mean(name, known) or f"; there are {', '.join(known) or 'none'}"
    raise ValueError(f"there is no prompt or resource template {name!r}{near}")


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r} is no argument that is known already: write name=value")
    return name, value
