"""Many servers at once: processes, at a URL and in memory, some of which die or hang."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.host import PATIENCE, TOOLS, is_running, python_command, wait_until
from tests.interaction.connecting import serving_http, text_of
from wigwag import (
    Client,
    ClientGroup,
    ConnectionClosed,
    Context,
    RequestFailed,
    ResourceNotFound,
    Server,
    ServerStartFailed,
    Timeouts,
    load_configuration,
)
from wigwag.errors import ConnectionRefused, LocalProtocolError
from wigwag.transports.contract import Connection
from wigwag.transports.memory import memory_pair

pytestmark = pytest.mark.anyio

OPTIONS: dict[str, Any] = {"timeouts": Timeouts(request=PATIENCE, connect=PATIENCE, probe=PATIENCE)}
PROCESS = {"command": sys.executable, "args": [str(TOOLS)]}
DIES = {"command": sys.executable, "args": ["-c", "raise SystemExit('no licence')"]}
HANGS = {"command": sys.executable, "args": ["-c", "import time; time.sleep(3600)"]}


def farm(animal: str) -> Server:
    """Return a server with some things of its own, and some that all farms have."""
    server = Server(animal)

    @server.tool
    def feed() -> str:
        """Feed it."""
        return f"the {animal} is fed"

    @server.tool(name=f"call_{animal}")
    def call() -> str:
        """Call it."""
        return f"here is the {animal}"

    @server.prompt
    def praise(why: str) -> str:
        """Praise it."""
        return f"Good {animal}, for {why}"

    @server.resource("farm://weather")
    def weather() -> str:
        return f"good for the {animal}"

    @server.resource(f"farm://{animal}")
    def of_animal() -> str:
        return f"about the {animal}"

    @server.resource("farm://%s/{name}" % animal)  # noqa: UP031 - there are braces in it
    def of_name(name: str) -> str:
        if name == "nobody":
            raise ResourceNotFound
        return f"{name} the {animal}"

    return server


def text(result: Any) -> str:
    """Return the only text of what was read."""
    (content,) = result.contents
    found: str = content.text
    return found


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


async def names(group: ClientGroup) -> list[str]:
    return [tool.name for tool in await group.list_tools()]


async def pid_of(client: Client) -> int:
    return int(await text_of(client, "process_id"))


# --- all of it together


async def test_one_that_fails_hides_none_of_the_others() -> None:
    async with serving_http(farm("cow")) as origin:
        servers = {
            "dies": DIES,
            "cow": {"url": f"{origin}/mcp"},
            "odd": {"command": "cats", "args": ["${NO_SUCH_VARIABLE}"]},
            "process": PROCESS,
            "gone": "http://127.0.0.1:1/mcp",
            "cat": farm("cat"),
        }
        async with ClientGroup(servers, **OPTIONS) as group:
            assert group.status == {
                "dies": "failed",
                "cow": "connected",
                "odd": "failed",
                "process": "connected",
                "gone": "failed",
                "cat": "connected",
            }
            errors = group.errors
            assert {name: type(error) for name, error in errors.items()} == {
                "dies": ServerStartFailed,
                "odd": ValueError,
                "gone": ConnectionRefused,
            }
            assert "no licence" in str(errors["dies"])
            assert "server 'odd', `args[0]`: there is no environment" in str(errors["odd"])
            found = await names(group)
            assert found[:2] == ["cow_feed", "call_cow"]
            assert found[-2:] == ["cat_feed", "call_cat"]
            assert "echo" in found
            assert (await group.call_tool("cow_feed")).text == "the cow is fed"
            assert (await group.call_tool("call_cat")).text == "here is the cat"
            assert (await group.call_tool("echo", {"text": "hello"})).text == "hello"
            pid = await pid_of(group.clients["process"])
        assert group.status == {
            **dict.fromkeys(servers, "disconnected"),
            **dict.fromkeys(errors, "failed"),
        }
    assert not is_running(pid)


async def test_a_configuration_is_a_group(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    off = {**DIES, "disabled": True}
    file.write_text(json.dumps({"servers": {"a": PROCESS, "off": off}}), encoding="utf-8")
    content = {"mcpServers": {"a": PROCESS}}
    for servers in (file, str(file), content, load_configuration(file)):
        async with ClientGroup(servers, **OPTIONS) as group:
            assert group.status == {"a": "connected"}
            assert (await group.call_tool("a_echo", {"text": "hello"})).text == "hello"


# --- names


async def test_every_tool_can_be_called_with_the_name_of_its_server() -> None:
    async with ClientGroup({"a": farm("cat"), "my b": farm("cow")}) as group:
        assert await names(group) == ["a_feed", "call_cat", "my_b_feed", "call_cow"]
        assert (await group.call_tool("my_b_feed")).text == "the cow is fed"
        assert (await group.call_tool("a_call_cat")).text == "here is the cat"


async def test_what_was_never_listed_is_looked_up_by_the_call() -> None:
    async with ClientGroup({"a": farm("cat"), "b": farm("cow")}) as group:
        assert (await group.call_tool("b_feed")).text == "the cow is fed"
        assert (await group.get_prompt("a_praise", {"why": "mice"})).messages[0].content.text == (  # type: ignore[union-attr]
            "Good cat, for mice"
        )
        assert [prompt.name for prompt in await group.list_prompts()] == ["a_praise", "b_praise"]


async def test_an_unknown_name_is_an_error_with_what_is_near() -> None:
    async with ClientGroup({"a": farm("cat"), "b": farm("cow")}) as group:
        with pytest.raises(LocalProtocolError) as caught:
            await group.call_tool("feed")
        assert (
            str(caught.value) == "no server has a tool 'feed'; did you mean 'a_feed' or 'b_feed'?"
        )
        await group.add("c", DIES)
        with pytest.raises(LocalProtocolError) as caught:
            await group.get_prompt("b_prais")
        assert str(caught.value) == (
            "no server has a prompt 'b_prais'; did you mean 'b_praise'?; "
            "not connected: 'c', see `errors`"
        )


async def test_a_name_stays_what_it_was_while_the_other_server_is_away() -> None:
    async with ClientGroup({"a": PROCESS, "b": farm("cat")}, **OPTIONS) as group:
        await group.add("c", PROCESS)
        assert "c_echo" in await names(group)
        await group.clients["a"].close()
        with pytest.raises(LocalProtocolError, match="did you mean 'a_echo' or 'c_echo'"):
            await group.call_tool("echo", {"text": "whose?"})


# --- resources


async def test_a_resource_is_read_of_the_server_that_has_it() -> None:
    async with ClientGroup({"a": farm("cat"), "b": farm("cow"), "c": PROCESS}, **OPTIONS) as group:
        assert text(await group.read_resource("farm://cow")) == "about the cow"
        assert text(await group.read_resource("farm://weather")) == "good for the cat"
        assert text(await group.read_resource("farm://cow/ada")) == "ada the cow"
        assert [resource.uri for resource in await group.list_resources()] == [
            "farm://weather", "farm://cat", "farm://weather", "farm://cow",
        ]  # fmt: skip
        assert [template.uri_template for template in await group.list_resource_templates()] == [
            "farm://cat/{name}", "farm://cow/{name}",
        ]  # fmt: skip


async def test_a_resource_that_nobody_lists_is_asked_of_all_who_have_any() -> None:
    hidden = Server("hidden")

    @hidden.resource("deep://{+path}")
    def deep(path: str) -> str:
        return f"deep {path}"

    servers = {"process": PROCESS, "a": farm("cat"), "hidden": hidden}
    async with ClientGroup(servers, **OPTIONS) as group:
        assert text(await group.read_resource("deep://a/b")) == "deep a/b"
        with pytest.raises(RequestFailed, match=r"farm://cat/nobody"):
            await group.read_resource("farm://cat/nobody")
        with pytest.raises(RequestFailed, match="nowhere://"):
            await group.read_resource("nowhere://")
    async with ClientGroup({"process": PROCESS}, **OPTIONS) as group:
        with pytest.raises(LocalProtocolError, match="no server has resources: nowhere://"):
            await group.read_resource("nowhere://")


# --- servers that hang, die, and come back


async def test_a_server_that_hangs_delays_only_itself() -> None:
    servers = {"hangs": HANGS, "cat": farm("cat")}
    group = ClientGroup(servers, patience=0, **OPTIONS)
    await group.connect()
    assert group.status["hangs"] == "connecting"
    assert (await group.call_tool("call_cat")).text == "here is the cat"
    assert await names(group) == ["feed", "call_cat"]
    assert text(await group.read_resource("farm://cat")) == "about the cat"
    assert text(await group.read_resource("farm://cat/tom")) == "tom the cat"
    assert group.status == {"hangs": "connecting", "cat": "connected"}
    calling = asyncio.create_task(group.call_tool("hangs_echo", {"text": "hello"}))
    await group.list_prompts()
    assert not calling.done()
    await group.close()
    with pytest.raises(LocalProtocolError, match="not connected: use `async with group:`"):
        await calling
    assert group.status == {"hangs": "disconnected", "cat": "disconnected"}


async def test_the_others_are_of_use_while_connect_still_waits() -> None:
    group = ClientGroup({"hangs": HANGS, "cat": farm("cat")}, **OPTIONS)
    connecting = asyncio.create_task(group.connect())
    await until(lambda: group.status["cat"] == "connected")
    await group.clients["cat"].list_tools()
    assert not connecting.done()
    await group.close()
    await connecting


async def test_a_server_that_hangs_has_failed_when_its_time_to_connect_is_over() -> None:
    async with ClientGroup({"cat": farm("cat")}, **OPTIONS) as group:
        await group.add("hangs", HANGS, timeouts=Timeouts(connect=0.1))
        assert group.status == {"cat": "connected", "hangs": "failed"}
        assert "was not ready within 0.1 s" in str(group.errors["hangs"])


async def test_a_server_that_failed_is_tried_anew_by_connect_and_by_a_call(tmp_path: Path) -> None:
    flag = tmp_path / "may start"
    program = f"""
import runpy, sys
sys.argv = [{str(TOOLS)!r}]
open({str(flag)!r}).close()
runpy.run_path({str(TOOLS)!r}, run_name="__main__")
"""
    late = [sys.executable, "-c", program]
    async with ClientGroup({"late": late, "cat": farm("cat")}, **OPTIONS) as group:
        assert group.status["late"] == "failed"
        assert "echo" not in await names(group)
        await group.connect()
        assert group.status["late"] == "failed"
        flag.touch()
        assert (await group.call_tool("echo", {"text": "hello"})).text == "hello"
        assert group.errors == {}
        flag.unlink()
    flag.touch()
    async with group:
        assert group.status == {"late": "connected", "cat": "connected"}


async def test_a_server_that_died_is_started_anew_when_it_is_needed() -> None:
    async with ClientGroup({"process": PROCESS, "cat": farm("cat")}, **OPTIONS) as group:
        before = await pid_of(group.clients["process"])
        with pytest.raises(ConnectionClosed, match="exited with code 7"):
            await group.call_tool("die", {"code": 7, "words": "enough"})
        assert group.status == {"process": "disconnected", "cat": "connected"}
        assert (await group.call_tool("echo", {"text": "again"})).text == "again"
        again = await pid_of(group.clients["process"])
        assert again != before
        os.kill(again, signal.SIGKILL)
        await until(lambda: group.status["process"] != "connected")
        assert "echo" in await names(group)


async def test_a_list_that_fails_leaves_the_lists_of_the_others() -> None:
    shy = Server("shy")

    @shy.middleware
    async def refuse(request: Any, call_next: Any) -> Any:
        if request.method == "tools/list":
            raise RequestFailed(-32000, "not today")
        return await call_next(request)

    @shy.tool
    def hide() -> None:
        pass

    async with ClientGroup({"shy": shy, "cat": farm("cat")}) as group:
        assert await names(group) == ["feed", "call_cat"]
        assert group.status["shy"] == "connected"
        assert "not today" in str(group.errors["shy"])
        await group.list_prompts()
        assert "not today" in str(group.errors["shy"])


# --- adding and removing


async def test_servers_come_and_go_while_the_group_is_in_use() -> None:
    async with ClientGroup({"a": farm("cat")}, **OPTIONS) as group:
        assert await names(group) == ["feed", "call_cat"]
        await group.add("b", PROCESS)
        await group.add("c", farm("cow"))
        assert (await names(group))[:2] == ["a_feed", "call_cat"]
        pid = await pid_of(group.clients["b"])
        await group.remove("b")
        assert not is_running(pid)
        await group.remove("c")
        assert await names(group) == ["feed", "call_cat"]
        with pytest.raises(ValueError, match="there is no server 'c'"):
            await group.remove("c")
        with pytest.raises(ValueError, match="there is a server 'a' already"):
            await group.add("a", farm("cow"))


async def test_a_server_added_before_connecting_is_connected_with_the_others() -> None:
    group = ClientGroup({})
    await group.add("a", farm("cat"))
    assert group.status == {"a": "disconnected"}
    async with group:
        assert group.status == {"a": "connected"}


async def test_headers_are_for_one_server() -> None:
    server = Server("headers")

    @server.tool
    def seen(ctx: Context) -> str:
        assert ctx.http_request is not None
        headers = ctx.http_request.headers
        return f"{headers.get('a')} {headers.get('b')} {headers.get('c')}"

    async def computed() -> dict[str, str]:
        return {"b": "ours", "C": "ours"}

    with pytest.raises(ValueError, match="`headers` are for one server"):
        ClientGroup({}, headers={"Authorization": "Bearer 1"})
    async with serving_http(server) as origin, ClientGroup({}) as group:
        entry = {"url": f"{origin}/mcp", "headers": {"A": "theirs", "B": "theirs"}}
        await group.add("plain", entry)
        await group.add("given", entry, headers={"b": "ours", "C": "ours"})
        await group.add("computed", entry, headers=computed)
        await group.add("sync", entry, headers=lambda: {"b": "ours", "C": "ours"})
        assert (await group.call_tool("plain_seen")).text == "theirs theirs None"
        for name in ("given", "computed", "sync"):
            assert (await group.call_tool(f"{name}_seen")).text == "theirs ours ours"


async def test_an_entry_of_type_sse_is_greeted_over_http_sse() -> None:
    server = farm("cat")
    async with serving_http(server, sse=True) as origin:
        entry = {"type": "sse", "url": f"{origin}/sse"}
        async with Client(entry) as client:
            assert client.protocol_version == "2025-11-25"
            assert await text_of(client, "feed") == "the cat is fed"
        # What is not so is found out, as for any URL.
        async with Client({**entry, "url": f"{origin}/mcp"}) as client:
            assert client.protocol_version == "2026-07-28"


# --- closing


async def test_a_group_can_be_closed_twice_in_any_task_and_used_again() -> None:
    group = ClientGroup({"process": PROCESS, "cat": farm("cat")}, **OPTIONS)
    for _ in range(2):
        await asyncio.create_task(group.connect())
        pid = await pid_of(group.clients["process"])
        await asyncio.gather(*(asyncio.create_task(group.close()) for _ in range(3)))
        await group.close()
        assert not is_running(pid)
        for use in (group.list_tools, lambda: group.call_tool("echo"),
                    lambda: group.read_resource("farm://cat")):  # fmt: skip
            with pytest.raises(LocalProtocolError, match="not connected: use `async with group:`"):
                await use()


@pytest.mark.parametrize("end", ["close", "remove"])
async def test_who_waits_for_a_server_learns_that_its_client_was_closed(end: str) -> None:
    server = farm("cat")
    opened: list[Connection] = []

    async def open_once() -> Connection:
        if opened:
            await asyncio.get_running_loop().create_future()
        ours, theirs = memory_pair()
        ours.ends_with(asyncio.create_task(server.serve(theirs)))
        opened.append(ours)
        return ours

    async with ClientGroup({"cat": open_once}, **OPTIONS) as group:
        assert (await group.call_tool("feed")).text == "the cat is fed"
        opened[0].abort()
        await until(lambda: group.status["cat"] == "disconnected")
        calling = asyncio.create_task(group.call_tool("feed"))
        await until(lambda: group.status["cat"] == "connecting")
        await (group.close() if end == "close" else group.remove("cat"))
        with pytest.raises(ConnectionClosed, match="the connection to 'cat' was closed"):
            await calling


async def test_a_cancelled_start_leaves_nothing_behind() -> None:
    group = ClientGroup({"hangs": HANGS, "process": PROCESS}, **OPTIONS)

    async def use() -> None:
        async with group:
            raise AssertionError

    task = asyncio.create_task(use())
    await until(lambda: group.status["process"] == "connected")
    pid = await pid_of(group.clients["process"])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    wait_until(lambda: not is_running(pid), "the process to be gone")
    assert group.status == {"hangs": "disconnected", "process": "disconnected"}


def test_a_group_shows_how_its_servers_fare_and_no_secrets() -> None:
    group = ClientGroup({"a": {"command": "x", "env": {"T": "s3cret"}}, "b": python_command(TOOLS)})
    assert repr(group) == "<ClientGroup of a: disconnected, b: disconnected>"
    assert repr(ClientGroup({})) == "<ClientGroup of no servers>"
