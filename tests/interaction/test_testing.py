"""What authors test their servers with: `connect`, over every transport."""

import asyncio
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from wigwag import Client, Context, RequestTimedOut, Server, ServerStartFailed
from wigwag.schema import REVISIONS, ClientCapabilities, RootsCapability
from wigwag.testing import ScriptError, ServerHangs, connect

pytestmark = pytest.mark.anyio

TRANSPORTS = ("memory", "stdio", "http")
# Those in which a server may ask for all there is.
ABLE = ("2025-06-18", "2025-11-25", "2026-07-28")

FOREVER = 3600.0
PATIENCE = 30.0
"""Seconds for what happens at once."""
IMPATIENCE = 1.0

server = Server("cafe", version="1.0.0")


@server.tool
async def greet(ctx: Context) -> str:
    """Ask who it is."""
    answer = await ctx.elicit("Who are you?", {"name": str})
    return f"Hello {answer.content['name']}" if answer.action == "accept" else answer.action


@server.tool
async def greet_again(ctx: Context) -> str:
    """Ask again and again."""
    names = [(await ctx.elicit(f"Name {n}?", {"name": str})).action for n in (1, 2)]
    return ", ".join(names)


@server.tool
async def sign_in(ctx: Context) -> str:
    """Send the user to a page."""
    return (await ctx.elicit_url("Sign in", "https://example.com/in")).action


@server.tool
async def rhyme(word: str, ctx: Context) -> str:
    """Ask the model."""
    return (await ctx.sample(f"What rhymes with {word}?", max_tokens=5)).text


@server.tool
async def look_around(ctx: Context) -> list[str]:
    """Ask for the folders."""
    return [root.uri for root in await ctx.list_roots()]


@server.tool
def whoami(ctx: Context) -> str:
    """Tell what the client can be asked."""
    able = {"form": ctx.can_elicit, "sample": ctx.can_sample, "roots": ctx.can_list_roots}
    return " ".join(name for name, is_able in able.items() if is_able)


@server.tool
def environment(name: str) -> str:
    """Read a variable."""
    return os.environ.get(name, "")


@server.tool
async def wait() -> None:
    """Never return."""
    await asyncio.sleep(FOREVER)


@server.tool
async def block() -> None:
    """Never let anybody else run."""
    time.sleep(FOREVER)  # noqa: ASYNC251 - that is the fault


async def said(client: Client, tool: str, **arguments: Any) -> str:
    return (await client.call_tool(tool, arguments)).text


# --- transports and revisions


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("revision", [*ABLE, None])
async def test_a_server_is_reached_and_answered(transport: str, revision: str | None) -> None:
    async with connect(
        server,
        transport=transport,
        revision=revision,
        elicit=[{"name": "Ann"}, "decline"],
        sample="plate",
        roots=[Path.cwd()],
        timeout=PATIENCE,
    ) as client:
        assert client.protocol_version == revision or revision is None
        assert await said(client, "greet") == "Hello Ann"
        assert await said(client, "greet") == "decline"
        assert await said(client, "rhyme", word="late") == "plate"
        assert (await said(client, "look_around")).endswith(f'{Path.cwd().as_uri()}"]')
        assert [asked.message for asked in client.asked] == [
            "Who are you?",
            "Who are you?",
            "What rhymes with late?",
            "",
        ]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_revision_can_be_insisted_on(revision: str) -> None:
    async with connect(server, revision=revision) as client:
        assert client.protocol_version == revision
        assert await said(client, "whoami") == ""


async def test_a_page_is_answered_by_what_the_user_did() -> None:
    async with connect(server, elicit="accept") as client:
        assert await said(client, "sign_in") == "accept"
        assert client.asked[0].params.url == "https://example.com/in"


async def test_a_client_declares_what_it_has_answers_for() -> None:
    async with connect(server, elicit="decline", sample="x", roots=[]) as client:
        assert await said(client, "whoami") == "form sample roots"
    async with connect(server, sample="x") as client:
        assert await said(client, "whoami") == "sample"
    able = ClientCapabilities(roots=RootsCapability())
    async with connect(server, sample="x", capabilities=able) as client:
        assert await said(client, "whoami") == "sample roots"


async def test_commands_and_files_are_servers_too(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "from wigwag import Server\n"
        "server = Server('filed', version='1.0.0')\n"
        "if __name__ == '__main__':\n"
        "    server.run()\n",
        encoding="utf-8",
    )
    for target in (program, [sys.executable, str(program)], str(program)):
        async with connect(target, transport="stdio", timeout=PATIENCE) as client:
            assert client.server_info is not None
            assert client.server_info.name == "filed"


async def test_a_url_is_reached_over_http() -> None:
    async with connect(server, transport="http", timeout=PATIENCE) as first:
        url = f"{first!r}".partition("at ")[2].partition(",")[0]
        async with connect(url, transport="http", timeout=PATIENCE) as client:
            assert await said(client, "whoami") == ""


async def test_a_process_has_the_environment_that_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CAFE_TOKEN", "secret")
    async with connect(
        server, transport="stdio", env={"CAFE_DOOR": "open"}, timeout=PATIENCE
    ) as client:
        assert await said(client, "environment", name="CAFE_DOOR") == "open"
        assert await said(client, "environment", name="CAFE_TOKEN") == ""


async def test_a_server_that_no_module_has_cannot_be_a_process() -> None:
    with pytest.raises(ValueError, match="make it at the top level of a module"):
        async with connect(Server("hidden", version="1.0.0"), transport="stdio"):
            pass


async def test_a_module_that_cannot_be_loaded_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "broken_cafe.py"
    module.write_text("from wigwag import Server\nserver = Server('b', version='1')\n")
    import broken_cafe  # type: ignore[import-not-found]  # noqa: PLC0415 - it was just written

    module.write_text("import nothing_of_the_kind\n")
    try:
        with pytest.raises(ServerStartFailed, match="No module named 'nothing_of_the_kind'"):
            async with connect(broken_cafe.server, transport="stdio", timeout=PATIENCE):
                pass
    finally:
        del sys.modules["broken_cafe"]


@pytest.mark.parametrize(
    ("target", "transport", "reason"),
    [
        (server, "pigeon", "there is no transport 'pigeon': choose one of memory, stdio, http"),
        ("http://127.0.0.1:1/mcp", "memory", "is reached over http, not over memory"),
        (["python", "server.py"], "http", "is reached over stdio, not over http"),
        ("server.py", "http", "is reached over stdio, not over http"),
        ("tcp://localhost:1", "stdio", "is reached over a socket, not over stdio"),
        (lambda: None, "stdio", "is reached over a function, not over stdio"),
    ],
)
async def test_a_transport_that_does_not_lead_there_is_refused(
    target: Any, transport: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        async with connect(target, transport=transport):
            pass


def test_it_says_that_it_needs_asyncio() -> None:
    entering = connect(server).__aenter__()
    with pytest.raises(RuntimeError, match="`anyio_backend` return 'asyncio'"):
        entering.send(None)  # as a loop that is not asyncio's would


# --- what the script has not


async def test_a_question_too_many_fails_the_call_in_the_modern_revision() -> None:
    with pytest.raises(ScriptError, match=r"'Name 2\?' .*all 1 answers were given"):
        async with connect(server, elicit=["decline"]) as client:
            await said(client, "greet_again")


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
async def test_a_question_too_many_fails_the_test_in_a_legacy_revision(revision: str) -> None:
    async def test() -> None:
        async with connect(server, elicit=["decline"], revision=revision) as client:
            result = await client.call_tool("greet_again")
            assert result.text == "decline, decline"

    with pytest.raises(ScriptError, match=r"'Name 2\?' .*all 1 answers were given") as caught:
        await test()
    assert isinstance(caught.value.__cause__, AssertionError)  # that of the test, shown with it


@pytest.mark.parametrize("revision", ABLE)
async def test_a_question_too_many_fails_also_where_the_test_does_not_look(revision: str) -> None:
    async def test() -> None:
        async with connect(server, elicit=[], revision=revision) as client:
            with suppress(ScriptError):
                await said(client, "greet")

    with pytest.raises(ScriptError, match=r"'Who are you\?'"):
        await test()


@pytest.mark.parametrize("revision", ABLE)
async def test_a_question_too_few_fails(revision: str) -> None:
    with pytest.raises(ScriptError, match=r'did not ask for all answers of `elicit`; .*"cancel"'):
        async with connect(server, elicit=["decline", "cancel"], revision=revision) as client:
            assert await said(client, "greet") == "decline"


async def test_a_test_that_fails_is_not_blamed_on_answers_that_are_left() -> None:
    with pytest.raises(AssertionError, match="the test itself"):
        async with connect(server, elicit=["decline"]):
            raise AssertionError("the test itself")


# --- servers that hang


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_handler_that_never_returns_fails_the_request(transport: str) -> None:
    async with connect(server, transport=transport, timeout=5 * IMPATIENCE) as client:
        with pytest.raises(RequestTimedOut, match="no answer to tools/call"):
            await client.call_tool("wait", timeout=IMPATIENCE)
        assert await said(client, "whoami") == ""


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_a_handler_that_blocks_the_loop_fails_the_test(transport: str) -> None:
    with pytest.raises(ServerHangs, match=r"(?s)blocked for 1 s.*test_testing\.py:\d+ in block"):
        async with connect(server, transport=transport, timeout=IMPATIENCE) as client:
            await client.call_tool("block", timeout=PATIENCE)


async def test_a_process_that_blocks_fails_the_request_and_is_ended() -> None:
    async with connect(server, transport="stdio", timeout=PATIENCE) as client:
        with pytest.raises(RequestTimedOut):
            await client.call_tool("block", timeout=IMPATIENCE)


async def test_a_client_may_be_left_by_another_task() -> None:
    connecting = connect(server, transport="http", timeout=PATIENCE)
    client = await asyncio.create_task(_enter(connecting))
    assert await said(client, "whoami") == ""
    await asyncio.create_task(_leave(connecting))


async def _enter(connecting: Any) -> Any:
    return await connecting.__aenter__()


async def _leave(connecting: Any) -> None:
    await connecting.__aexit__(None, None, None)
