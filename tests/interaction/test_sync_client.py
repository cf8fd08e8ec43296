"""The blocking client: the same as `Client`, without an event loop around it."""

import asyncio
import gc
import inspect
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.host import PATIENCE, SERVERS, is_running, python_command, wait_until
from tests.interaction.http_process import serving
from wigwag import (
    Client,
    ConnectionClosed,
    Context,
    RequestFailed,
    RequestTimedOut,
    ResourceUpdated,
    Server,
    ServerStartFailed,
    SyncClient,
    connect_sync,
)
from wigwag.errors import LocalProtocolError
from wigwag.schema import ElicitRequestFormParams, ProgressNotificationParams

PEOPLE = SERVERS / "asking_people.py"
TOOLS = SERVERS / "tools.py"
MODES = ("modern", "legacy")
COUNTED = [1, 2, 3]


def parlour() -> Server:
    server = Server("parlour", version="1.0.0", instructions="Ask first.")

    @server.tool
    def add(one: int, two: int) -> int:
        """Add."""
        return one + two

    @server.resource("parlour://menu")
    def menu() -> str:
        """What there is."""
        return "lemon"

    @server.prompt
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello, {name}!"

    @server.tool
    def change_menu(ctx: Context) -> None:
        """Change what there is."""
        ctx.resource_updated("parlour://menu")

    @server.tool
    async def choose(ctx: Context) -> str:
        """Ask for a flavour."""
        outcome = await ctx.elicit("Which one?", str)
        return str(getattr(outcome, "data", outcome.action))

    @server.tool
    async def wait() -> None:
        """Never end."""
        await asyncio.Event().wait()

    return server


@pytest.fixture(params=["process", "http"])
def target(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A server in another process."""
    if request.param == "process":
        yield python_command(PEOPLE)
        return
    with serving(PEOPLE) as origin:
        yield f"{origin}/mcp"


@pytest.mark.parametrize("mode", MODES)
def test_it_has_what_the_server_has(mode: str) -> None:
    with SyncClient(parlour(), mode=mode) as client:
        assert client.server_info is not None
        assert client.server_info.name == "parlour"
        assert client.instructions == "Ask first."
        assert client.revision == client.protocol_version
        assert client.capabilities == client.server_capabilities
        assert [tool.name for tool in client.list_tools().tools][:1] == ["add"]
        assert client.call_tool("add", {"one": 1, "two": 2}).text == "3"
        assert client.read_resource("parlour://menu").contents[0].text == "lemon"
        assert client.get_prompt("greet", {"name": "Ada"}).messages[0].content.text == "Hello, Ada!"  # type: ignore[union-attr]
        assert client.list_resource_templates().resource_templates == []
        client.ping()
        with pytest.raises(RequestFailed):
            client.request("tools/call", {"name": "subtract"})


def test_it_talks_to_processes_and_over_http(target: Any) -> None:
    with connect_sync(target) as client:
        assert client.call_tool("count").text == "three"


@pytest.mark.parametrize("mode", MODES)
def test_progress_is_told_in_the_thread_that_waits_before_the_call_returns(mode: str) -> None:
    told: list[tuple[float, threading.Thread]] = []

    def show(progress: ProgressNotificationParams) -> None:
        told.append((progress.progress, threading.current_thread()))

    with connect_sync(python_command(PEOPLE), mode=mode) as client:
        client.call_tool("count", on_progress=show)
        assert told[-1] == (3, threading.current_thread())


def test_a_progress_function_that_fails_spoils_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def show(progress: ProgressNotificationParams) -> None:
        raise KeyError(progress.progress)

    with connect_sync(python_command(PEOPLE)) as client:
        assert client.call_tool("count", on_progress=show).text == "three"
    assert "a callback of the client failed" in caplog.text


def test_log_messages_have_been_told_in_order_when_the_client_is_closed() -> None:
    told: list[object] = []
    with connect_sync(python_command(PEOPLE), on_log=lambda log: told.append(log.data)) as client:
        client.set_logging_level("debug")
        client.call_tool("count")
    assert told == COUNTED


def test_a_log_function_may_use_the_client() -> None:
    answers: list[str] = []
    client = SyncClient(
        python_command(PEOPLE),
        on_log=lambda _: answers.append(client.call_tool("count").text),
    )
    with client:
        client.set_logging_level("info")
        pending = threading.Thread(target=lambda: _until_closed(client))
        pending.start()
        wait_until(lambda: answers, "the answer that the log function got")
        client.close()
        pending.join(PATIENCE)
    assert answers[0] == "three"


def _until_closed(client: SyncClient) -> None:
    with pytest.raises(ConnectionClosed):
        client.call_tool("wait")


@pytest.mark.parametrize("mode", MODES)
def test_a_plain_function_may_block_while_it_answers(mode: str) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def ask(form: ElicitRequestFormParams) -> dict[str, str]:
        asked.set()
        assert go_on.wait(PATIENCE)
        return {"value": "lemon"}

    with (
        connect_sync(parlour(), mode=mode, elicitation=ask) as client,
        ThreadPoolExecutor() as pool,
    ):
        choice = pool.submit(client.call_tool, "choose")
        assert asked.wait(PATIENCE)
        assert client.call_tool("add", {"one": 1, "two": 1}).text == "2"
        go_on.set()
        assert choice.result(PATIENCE).text == "lemon"


def test_an_async_function_runs_on_the_loop_and_cannot_wait_for_it() -> None:
    async def ask(form: ElicitRequestFormParams) -> dict[str, str]:
        with pytest.raises(LocalProtocolError, match="plain function"):
            client.ping()
        return {"value": "vanilla"}

    client = SyncClient(parlour(), elicitation=ask)
    with client:
        assert client.call_tool("choose").text == "vanilla"


@pytest.mark.parametrize("mode", MODES)
def test_changes_are_a_plain_iterator(mode: str) -> None:
    menu = "parlour://menu"
    with connect_sync(parlour(), mode=mode) as client, client.listen(uris=[menu]) as changes:
        assert changes.honored.resource_subscriptions == [menu]
        assert changes.wait(0.0) is None
        client.call_tool("change_menu")
        assert next(changes) == ResourceUpdated(uri=menu)
        client.call_tool("change_menu")
        assert changes.wait(PATIENCE) == ResourceUpdated(uri=menu)


def test_who_listens_hears_that_the_client_was_closed() -> None:
    with connect_sync(parlour()) as client, client.listen(uris=["parlour://menu"]) as changes:
        client.close()
        with pytest.raises(ConnectionClosed):
            next(changes)


def test_many_threads_can_use_it_at_once() -> None:
    def add(number: int) -> str:
        return client.call_tool("add", {"one": number, "two": number}).text

    with connect_sync(parlour()) as client, ThreadPoolExecutor(16) as pool:
        assert list(pool.map(add, range(200))) == [str(2 * number) for number in range(200)]


def test_it_works_where_an_event_loop_runs_already() -> None:
    async def notebook() -> str:
        with connect_sync(parlour()) as client:
            return client.call_tool("add", {"one": 1, "two": 2}).text

    assert asyncio.run(notebook()) == "3"


def test_it_can_be_closed_and_connected_again_and_again() -> None:
    client = SyncClient(python_command(PEOPLE))
    client.close()
    with pytest.raises(LocalProtocolError, match="not connected"):
        client.ping()
    for _ in range(2):
        with client:
            assert client.connect() is client
            assert client.call_tool("count").text == "three"
            assert "connected" in repr(client)
        client.close()
        assert repr(client).startswith("<SyncClient of ")
        assert repr(client).endswith("not connected>")
        with pytest.raises(LocalProtocolError, match="not connected"):
            client.ping()


def test_what_still_waits_when_it_is_closed_fails() -> None:
    with connect_sync(parlour()) as client, ThreadPoolExecutor() as pool:
        waiting = pool.submit(client.call_tool, "wait")
        client.call_tool("add", {"one": 1, "two": 2})
        client.close()
        with pytest.raises(ConnectionClosed):
            waiting.result(PATIENCE)


def test_who_cannot_connect_leaves_nothing_behind() -> None:
    with pytest.raises(ServerStartFailed):
        connect_sync([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_timeout_is_that_of_the_client() -> None:
    with connect_sync(parlour()) as client:
        with pytest.raises(RequestTimedOut):
            client.call_tool("wait", timeout=0.05)
        client.ping()


def test_a_client_that_is_forgotten_ends_its_server() -> None:
    client = connect_sync(python_command(TOOLS))
    pid = int(client.call_tool("process_id").text)
    assert is_running(pid)
    del client
    gc.collect()
    wait_until(lambda: not is_running(pid), "the end of the server")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_was_forked_off_is_told_to_make_a_client_of_its_own() -> None:
    with connect_sync(python_command(PEOPLE)) as client:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.close()
                for use in (client.ping, client.connect):
                    try:
                        use()
                    except LocalProtocolError as error:
                        code = 0 if "make a client in this process" in str(error) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert client.call_tool("count").text == "three"


def test_it_has_all_that_the_client_has() -> None:
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public - set(vars(SyncClient)) == set()
    for name in public:
        ours, theirs = getattr(SyncClient, name), getattr(Client, name)
        if isinstance(theirs, property):
            assert ours.__doc__ == theirs.__doc__, name
        else:
            assert inspect.signature(ours) == inspect.signature(theirs), name
            assert not inspect.iscoroutinefunction(ours), name
    assert inspect.signature(SyncClient) == inspect.signature(Client)
    ours, theirs = inspect.signature(connect_sync), inspect.signature(Client)
    assert ours.parameters == theirs.parameters


def test_it_is_what_a_path_is_for(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no_such\.py"):
        SyncClient(tmp_path / "no_such.py")
    with pytest.raises(TypeError, match="'nonsense'"):
        SyncClient(parlour(), nonsense=1)  # type: ignore[call-arg]
