"""All that can be asked, from everything that can ask: each transport, each revision."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interaction.answering import ABLE_TO_ALL
from tests.interaction.connecting import TIMEOUTS, error_of, text_of
from tests.interaction.enquiry import Person, enquiry
from tests.interaction.http_process import serving
from tests.watch import WireWatch
from tests.wire import Conversation
from wigwag import Client, RequestFailed
from wigwag.schema import (
    REVISIONS,
    V2025_06_18,
    V2025_11_25,
    TextContent,
)

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).with_name("enquiry.py")

ANSWERS = {
    "form": f"accept {Person('Ada', 7)}",
    "page": "accept None",
    "model": "HELLO",
    "roots": "file:///srv",
    "several": f"{Person('Ada', 7)} HELLO file:///srv",
    "rounds": "ONE, TWO, THREE",
    "once": "True 1 0",
}
WITH_FORMS = ("form", "several", "rounds")
PLAIN = ("form", "page", "several", "rounds", "once")

features = pytest.mark.parametrize("feature", ["tool", "prompt", "template"])
kinds = pytest.mark.parametrize(
    ("handler", "kind"),
    [*(("async", kind) for kind in ANSWERS), *(("plain", kind) for kind in PLAIN)],
)


class Child(NamedTuple):
    """A process that serves stdio, and what was said to it so far."""

    client: Client
    conversations: dict[str, Conversation]


@pytest.fixture(scope="module", params=REVISIONS)
async def child(request: pytest.FixtureRequest, wire_watch: WireWatch) -> AsyncIterator[Child]:
    """A process for each revision, as long as there are tests for it."""
    command = [sys.executable, str(PROGRAM)]
    async with Client(command, mode=request.param, timeouts=TIMEOUTS, **ABLE_TO_ALL) as client:
        yield Child(client, wire_watch.conversations)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A process that serves HTTP as long as there are tests for it."""
    with serving(PROGRAM) as origin:
        yield f"{origin}/mcp"


async def ask(client: Client, feature: str, handler: str, kind: str) -> str:
    """Let something of the server ask, and return what comes of it."""
    if feature == "tool":
        return await text_of(client, handler, kind=kind)
    if feature == "prompt":
        [message] = (await client.get_prompt(handler, {"kind": kind})).messages
        assert isinstance(message.content, TextContent)
        return message.content.text
    [contents] = (await client.read_resource(f"enquiry://{handler}/{kind}")).contents
    return str(contents.text)


async def refusal(client: Client, feature: str, handler: str, kind: str) -> str:
    """Let something of the server ask what it cannot, and return why it fails."""
    if feature == "tool":
        return await error_of(client, handler, {"kind": kind})
    with pytest.raises(RequestFailed) as refused:
        await ask(client, feature, handler, kind)
    return refused.value.message


async def check(client: Client, feature: str, handler: str, kind: str) -> None:
    revision = client.protocol_version
    assert revision is not None
    if kind == "page" and V2025_06_18 <= revision < V2025_11_25:
        reason = "it did not declare `elicitation.url`"
    elif kind in (*WITH_FORMS, "page") and revision < V2025_06_18:
        reason = f"there is no elicitation/create in {revision}"
    else:
        assert await ask(client, feature, handler, kind) == ANSWERS[kind]
        return
    assert await refusal(client, feature, handler, kind) == f"the client cannot be asked: {reason}"


@pytest.mark.parametrize("revision", REVISIONS)
@features
@kinds
async def test_asking_in_memory(revision: str, feature: str, handler: str, kind: str) -> None:
    async with Client(enquiry, mode=revision, timeouts=TIMEOUTS, **ABLE_TO_ALL) as client:
        await check(client, feature, handler, kind)


@features
@kinds
async def test_asking_over_stdio(
    child: Child, wire: WireWatch, feature: str, handler: str, kind: str
) -> None:
    wire.conversations.update(child.conversations)
    await check(child.client, feature, handler, kind)


@pytest.mark.parametrize("revision", REVISIONS)
@features
@kinds
async def test_asking_over_http(
    url: str, revision: str, feature: str, handler: str, kind: str
) -> None:
    async with Client(url, mode=revision, timeouts=TIMEOUTS, **ABLE_TO_ALL) as client:
        await check(client, feature, handler, kind)
