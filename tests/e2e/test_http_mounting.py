"""The application of a server under other ASGI servers, and within the applications of others."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI, Request, Response
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route

from tests.asgi import App, Site, legacy_call, modern, modern_call, notification, serving, until
from tests.e2e.host import PATIENCE, SERVERS, wait_until
from tests.e2e.http_wire import begin_session, connect, request_bytes
from wigwag import Context, Server

TOKEN = {"progressToken": "p"}


class Stage:
    """What became of the tool."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.started = 0
        self.cancelled = 0
        self.lives: list[str] = []


def make_server(stage: Stage) -> Server:
    @contextlib.asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        stage.lives.append("begins")
        yield
        stage.lives.append("ends")

    server = Server("mounted", version="1.0.0", lifespan=lifespan)

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    async def work(context: Context) -> str:
        context.report_progress(1)
        stage.started += 1
        try:
            await stage.go.wait()
        except asyncio.CancelledError:
            stage.cancelled += 1
            raise
        return "worked"

    return server


@pytest.fixture
def stage() -> Stage:
    return Stage()


def starlette(app: App) -> App:
    return Starlette(routes=[Mount("/api", app)])


def fastapi(app: App) -> App:
    parent = FastAPI()
    parent.mount("/api", app)
    return parent


def nested(app: App) -> App:
    inner = FastAPI()
    inner.mount("/api", app)
    outer = FastAPI()
    outer.mount("/v1", inner)
    return Starlette(routes=[Mount("/x", outer)])


def with_middleware(app: App) -> App:
    parent = FastAPI(middleware=[Middleware(GZipMiddleware, minimum_size=1)])

    @parent.middleware("http")
    async def pass_on(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await call_next(request)
        response.headers["x-passed"] = "yes"
        return response

    parent.mount("/api", app)
    return parent


PARENTS: list[tuple[Callable[[App], App], str]] = [
    (starlette, "/api"),
    (fastapi, "/api"),
    (nested, "/x/v1/api"),
    (with_middleware, "/api"),
]


@contextlib.asynccontextmanager
async def mounted(
    server: Server, parent: Callable[[App], App], **options: Any
) -> AsyncIterator[Site]:
    async with serving(server, **options) as site:
        site.target = parent(site.app)
        yield site


@pytest.mark.anyio
@pytest.mark.parametrize(("parent", "prefix"), PARENTS, ids=lambda v: getattr(v, "__name__", ""))
async def test_it_serves_below_a_prefix_though_nobody_runs_its_lifespan(
    stage: Stage, parent: Callable[[App], App], prefix: str
) -> None:
    async with mounted(make_server(stage), parent, sse=True, health=True) as site:
        for path in (f"{prefix}/mcp", f"{prefix}/mcp/", f"{prefix}/"):
            site.path = path
            call = await site.ask(*modern_call(1, "echo", {"text": path}))
            assert (call.status, path) == (200, path)
            assert call.json["result"]["content"][0]["text"] == path
        missing = await site.open("GET", f"{prefix}/nope").whole()
        assert missing.status == 404
        assert f"{prefix}/mcp" in missing.json["error"]["message"]
        assert (await site.open("GET", f"{prefix}/health").whole()).status == 200
        old = site.open("GET", f"{prefix}/sse")
        endpoint = await old.event()
        assert endpoint.data.startswith("messages?session_id=")
        old.disconnect()
        await old.over()
    assert stage.lives == ["begins", "ends"]


@pytest.mark.anyio
@pytest.mark.parametrize(("parent", "prefix"), PARENTS, ids=lambda v: getattr(v, "__name__", ""))
async def test_sessions_streams_and_cancellation_work_below_a_prefix(
    stage: Stage, parent: Callable[[App], App], prefix: str
) -> None:
    async with mounted(make_server(stage), parent) as site:
        site.path = f"{prefix}/mcp"
        session = await site.begin()
        stream = site.get(session)
        assert (await stream.event()).id
        call = site.post(legacy_call(1, "work", token="p"), session=session)
        assert (await call.message())["method"] == "notifications/progress"
        cancel = notification("notifications/cancelled", {"requestId": 1})
        assert (await site.ask(cancel, session=session)).status == 202
        await until(lambda: stage.cancelled == 1, "the legacy call is cancelled")
        await call.whole()
        working = site.post(*modern_call(2, "work", meta=TOKEN))
        assert (await working.message())["params"]["progress"] == 1
        working.disconnect()
        await working.over()
        await until(lambda: stage.cancelled == 2, "the modern call is cancelled")
        waiting = site.post(*modern_call(3, "work"))
        await until(lambda: stage.started == 3, "it has begun")
        waiting.disconnect()
        await waiting.over()
        await until(lambda: stage.cancelled == 3, "it is cancelled without a stream, too")
        body, headers = modern(
            "l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        listening = site.post(body, headers)
        await listening.message()
        server = site.app._server
        assert isinstance(server, Server)
        server.tools_changed()
        method = "notifications/tools/list_changed"
        assert (await listening.message())["method"] == method
        assert (await stream.message())["method"] == method
        assert (await site.delete(session)).status == 200
        await stream.whole()
        assert site.endpoint.calls == 1


@pytest.mark.anyio
async def test_both_spellings_of_a_path_can_be_served_beside_the_routes_of_a_parent(
    stage: Stage,
) -> None:
    def at_the_root(app: App) -> App:
        parent = FastAPI()

        @parent.get("/hello")
        async def greet() -> str:
            return "hello"

        parent.mount("/", app)
        return parent

    def beside_itself(app: App) -> App:
        return Starlette(routes=[Route("/mcp", app), Mount("/mcp", app)])

    for parent in (at_the_root, beside_itself):
        async with mounted(make_server(stage), parent) as site:
            for path in ("/mcp", "/mcp/"):
                site.path = path
                call = await site.ask(*modern_call(1, "echo", {"text": "x"}))
                assert (path, call.status) == (path, 200)
            if parent is at_the_root:
                assert (await site.open("GET", "/hello").whole()).json == "hello"


@pytest.mark.anyio
async def test_it_may_be_mounted_several_times(stage: Stage) -> None:
    def parent(app: App) -> App:
        return Starlette(routes=[Mount("/a", app), Mount("/b", app), Mount("/", app)])

    async with mounted(make_server(stage), parent) as site:
        session = None
        for path in ("/a/mcp", "/b/mcp", "/mcp", "/mcp/"):
            site.path = path
            assert (await site.ask(*modern_call(1, "echo", {"text": "x"}))).status == 200
            session = session or await site.begin()
            call = await site.ask(legacy_call(path, "echo", {"text": "x"}), session=session)
            assert call.status == 200
    assert stage.lives == ["begins", "ends"]


@pytest.mark.anyio
async def test_a_parent_may_run_its_life(stage: Stage) -> None:
    app = make_server(stage).http_app()

    @contextlib.asynccontextmanager
    async def lifespan(parent: Starlette) -> AsyncIterator[None]:
        await app.start()
        yield
        await app.aclose()

    parent = Starlette(routes=[Mount("/api", app)], lifespan=lifespan)
    site = Site(app, target=parent)
    site.path = "/api/mcp"
    async with parent.router.lifespan_context(parent):
        assert stage.lives == ["begins"]
        assert (await site.ask(*modern_call(1, "echo", {"text": "x"}))).status == 200
    assert stage.lives == ["begins", "ends"]


@pytest.mark.anyio
async def test_it_may_be_a_route(stage: Stage) -> None:
    def parent(app: App) -> App:
        return Starlette(routes=[Route("/mcp", app)])

    async with mounted(make_server(stage), parent) as site:
        assert (await site.ask(*modern_call(1, "echo", {"text": "x"}))).status == 200
        session = await site.begin()
        stream = site.get(session)
        await stream.event()
        assert (await site.delete(session)).status == 200
        await stream.whole()


# --- other servers

APP = SERVERS / "asgi_app.py"
COMMANDS = {
    "uvicorn": ["uvicorn", "--host=127.0.0.1", "--port={port}", "{module}"],
    "uvicorn with h11": ["uvicorn", "--host=127.0.0.1", "--port={port}", "--http=h11", "{module}"],
    "granian": ["granian", "--interface=asgi", "--host=127.0.0.1", "--port={port}", "{module}"],
    "hypercorn": ["hypercorn", "--bind=127.0.0.1:{port}", "{module}"],
}


@contextlib.contextmanager
def running(
    name: str, module: str, log: Path
) -> Iterator[tuple[tuple[str, int], subprocess.Popen[bytes]]]:
    """Run an ASGI server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program, *arguments = COMMANDS[name]
    command = [part.format(port=port, module=module) for part in arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", program, *command],
            cwd=APP.parent,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        wait_until(lambda: process.poll() is not None or is_open(port), f"{name} listens")
        assert process.poll() is None, log.read_text()
        yield ("127.0.0.1", port), process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("module", "path"), [("asgi_app:app", "/mcp"), ("asgi_app:mounted", "/api/mcp")]
)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_runs_under_every_asgi_server(tmp_path: Path, name: str, module: str, path: str) -> None:
    log = tmp_path / "log"
    with running(name, module, log) as (address, process):
        with connect(address) as connection, connect(address) as other:
            for number in range(3):
                answer = connection.ask("POST", path, **_call(number, "echo", {"text": "x"}))
                assert answer.json()["id"] == number
            refused = connection.ask("POST", path, **_call(1, "nope"))
            assert refused.json()["error"]["code"] == -32602
            work = _call(1, "wait", {"seconds": 0.4, "steps": 2}, meta=TOKEN)
            stream = connection.ask("POST", path, **work)
            assert stream.headers["content-type"] == "text/event-stream"
            methods = [message.get("method") for message in stream.messages()]
            assert methods == ["notifications/progress", "notifications/progress", None]
            again = connection.ask("POST", path, **_call(5, "echo", {"text": "x"}))
            assert again.json()["id"] == 5
            session = begin_session(other, path=path)
            standalone = other.ask("GET", path, headers={**session, "accept": "text/event-stream"})
            assert standalone.block().startswith("id: ")
            assert standalone.block() == ": keep-alive"
            ended = connection.ask("DELETE", path, headers=session)
            assert ended.status == 200
            ended.read_body()
            assert standalone.messages() == []
        with connect(address) as leaving:
            leaving.send(_bytes(path, _call(1, "wait", {"seconds": 60})))
            wait_until(lambda: log.read_text().count("wait begins") == 2, "it begins")
        wait_until(lambda: "was cancelled" in log.read_text(), "it is cancelled")
        with connect(address) as leaving:
            stream = leaving.ask("POST", path, **_call(1, "wait", {"seconds": 60}, meta=TOKEN))
            assert stream.message()["method"] == "notifications/progress"
        wait_until(lambda: log.read_text().count("was cancelled") == 2, "it is cancelled, too")
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    text = log.read_text()
    assert text.count("the lifespan begins") == 1
    if module == "asgi_app:app":  # the other one has a parent that does not tell it
        assert text.count("the lifespan ends") == 1
    assert "Traceback" not in text
    assert "Exception" not in text


def _call(number: int, tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
    body, headers = modern_call(number, tool, arguments, **more)
    return {"body": body, "headers": headers}


def _bytes(path: str, call: dict[str, Any]) -> bytes:
    return request_bytes("POST", path, **call)
