"""Wigwag's client against servers that people really run, as they are published on npm and PyPI.

Each gets a folder, a repository or a website of its own, made by the test. What crossed the pipe is
judged by the types of the official SDK.
"""

import asyncio
import base64
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, conversation
from tests.interop.conversation import MODERN, Oracle
from tests.interop.our_client import text_of
from wigwag import Client, RequestFailed
from wigwag.errors import LocalProtocolError
from wigwag.schema import (
    ClientCapabilities,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    LoggingMessageNotificationParams,
    PromptReference,
    ResourceLink,
    ResourceTemplateReference,
    TextContent,
)

pytestmark = pytest.mark.anyio

TEST_SECONDS: Final = 30


@pytest.fixture
def connect(tmp_path: Path, oracle: Oracle) -> Any:
    """Connects to a published server; afterwards every message we sent must have been right."""

    @asynccontextmanager
    async def connected(package: str, *arguments: str, **options: Any) -> AsyncIterator[Client]:
        tap = tmp_path / "tap"
        command = catalogue.tapped(tap, catalogue.published(package, *arguments))
        options.setdefault("on_stderr", lambda _line: None)
        async with asyncio.timeout(TEST_SECONDS), Client(command, **options) as client:
            yield client
        for messages in conversation.read(tap):
            assert oracle.problems([r for r in messages if r.sender == "client"]) == []

    return connected


# --- server-everything


EVERYTHING: Final = "server-everything"


async def test_everything_is_listed(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        assert client.protocol_version == "2025-11-25"
        assert client.server_info.name == "mcp-servers/everything"
        assert client.instructions.startswith("# Everything Server")
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert {"echo", "get-sum", "get-structured-content", "get-tiny-image"} <= set(tools)
        assert len((await client.list_resources()).resources) == 7
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "demo://resource/dynamic/text/{resourceId}",
            "demo://resource/dynamic/blob/{resourceId}",
        ]
        prompts = {each.name: each for each in (await client.list_prompts()).prompts}
        assert list(prompts) == [
            "simple-prompt",
            "args-prompt",
            "completable-prompt",
            "resource-prompt",
        ]
        required = {each.name: each.required for each in prompts["args-prompt"].arguments}
        assert required == {"city": True, "state": False}


async def test_everything_is_called(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        assert text_of(await client.call_tool("echo", {"message": "hi"})) == "Echo: hi"
        total = await client.call_tool("get-sum", {"a": 2, "b": 3})
        assert text_of(total) == "The sum of 2 and 3 is 5."
        weather = await client.call_tool("get-structured-content", {"location": "Chicago"})
        assert weather.structured_content == {
            "temperature": 36,
            "conditions": "Light rain / drizzle",
            "humidity": 82,
        }
        for name in ("echo", "nonesuch"):
            refused = await client.call_tool(name, {})
            assert refused.is_error is True
            assert text_of(refused).startswith("MCP error -32602")


async def test_every_kind_of_content_is_read(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        image = (await client.call_tool("get-tiny-image")).content[1]
        assert isinstance(image, ImageContent)
        assert image.mime_type == "image/png"
        assert base64.b64decode(image.data).startswith(b"\x89PNG")
        noted = await client.call_tool("get-annotated-message", {"messageType": "error"})
        assert noted.content[0].annotations.audience == ["user", "assistant"]
        assert noted.content[0].annotations.priority == 1
        links = (await client.call_tool("get-resource-links", {"count": 2})).content[1:]
        assert all(isinstance(link, ResourceLink) for link in links)
        assert [link.uri for link in links] == [
            "demo://resource/dynamic/blob/1",
            "demo://resource/dynamic/text/2",
        ]
        asked = {"resourceType": "Blob", "resourceId": 2}
        embedded = (await client.call_tool("get-resource-reference", asked)).content[1]
        assert isinstance(embedded, EmbeddedResource)
        assert embedded.resource.uri == "demo://resource/dynamic/blob/2"
        assert isinstance(embedded.resource.blob, str)
        assert base64.b64decode(embedded.resource.blob).startswith(b"Resource 2")


async def test_everythings_resources_are_read(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        uri = "demo://resource/static/document/features.md"
        [page] = (await client.read_resource(uri)).contents
        assert (page.uri, page.mime_type) == (uri, "text/markdown")
        assert page.text.startswith("# Everything Server - Features")
        [text] = (await client.read_resource("demo://resource/dynamic/text/1")).contents
        assert text.text.startswith("Resource 1: This is a plaintext resource")
        [blob] = (await client.read_resource("demo://resource/dynamic/blob/2")).contents
        assert base64.b64decode(blob.blob).startswith(b"Resource 2")
        with pytest.raises(RequestFailed) as caught:
            await client.read_resource("demo://nonesuch")
        assert caught.value.code == -32602


async def test_everythings_prompts_are_rendered_and_completed(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        [message] = (await client.get_prompt("simple-prompt")).messages
        assert message.content.text == "This is a simple prompt without arguments."
        [message] = (await client.get_prompt("args-prompt", {"city": "Oslo"})).messages
        assert message.content.text == "What's weather in Oslo?"
        with pytest.raises(RequestFailed, match="city"):
            await client.get_prompt("args-prompt", {})
        asked = {"resourceType": "Text", "resourceId": "1"}
        messages = (await client.get_prompt("resource-prompt", asked)).messages
        assert isinstance(messages[1].content, EmbeddedResource)
        prompt = PromptReference(name="completable-prompt")
        found = await client.complete(prompt, "department", "E")
        assert found.completion.values == ["Engineering"]
        found = await client.complete(prompt, "name", "", context={"department": "Sales"})
        assert found.completion.values == ["David", "Eve", "Frank"]
        template = ResourceTemplateReference(uri="demo://resource/dynamic/text/{resourceId}")
        assert (await client.complete(template, "resourceId", "1")).completion.values == ["1"]


async def test_everything_reports_progress_and_answers_pings(connect: Any) -> None:
    seen: list[Any] = []
    async with connect(EVERYTHING) as client:
        result = await client.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.2, "steps": 2},
            on_progress=lambda params: seen.append((params.progress, params.total)),
        )
        assert text_of(result).startswith("Long running operation completed")
        assert seen == [(1, 2), (2, 2)]
        await client.ping()


async def test_everything_asks_the_user_the_model_and_for_roots(
    connect: Any, tmp_path: Path
) -> None:
    asked: list[Any] = []

    def elicit(params: ElicitRequestFormParams | ElicitRequestURLParams) -> Any:
        asked.append(params)
        if isinstance(params, ElicitRequestURLParams):
            return ElicitResult(action="accept")
        return {"name": "Ada", "check": True}

    async def sample(params: CreateMessageRequestParams) -> CreateMessageResult:
        asked.append(params)
        said = TextContent(text="A wigwag is a signal.")
        return CreateMessageResult(role="assistant", content=said, model="demo-model")

    capabilities = ClientCapabilities(elicitation=ElicitationCapability(form={}, url={}))
    async with connect(
        EVERYTHING,
        elicitation=elicit,
        sampling=sample,
        roots=[tmp_path],
        capabilities=capabilities,
    ) as client:
        form = await client.call_tool("trigger-elicitation-request")
        assert "- Name: Ada" in text_of(form)
        assert asked[0].requested_schema["required"] == ["name"]
        assert asked[0].requested_schema["properties"]["email"]["format"] == "email"

        url = {"url": "http://127.0.0.1/form", "message": "Open it."}
        opened = await client.call_tool("trigger-url-elicitation", url)
        assert '"action": "accept"' in text_of(opened)
        assert (asked[1].url, asked[1].message) == (url["url"], url["message"])

        said = await client.call_tool("trigger-sampling-request", {"prompt": "What is it?"})
        assert "A wigwag is a signal." in text_of(said)
        assert asked[2].max_tokens == 100
        assert asked[2].messages[0].content.text.endswith("What is it?")

        roots = await client.call_tool("get-roots-list")
        assert tmp_path.as_uri() in text_of(roots)


async def test_a_user_who_declines_is_no_error(connect: Any) -> None:
    decline = ElicitResult(action="decline")
    async with connect(EVERYTHING, elicitation=lambda _: decline) as client:
        result = await client.call_tool("trigger-elicitation-request")
        assert not result.is_error
        assert "declined" in text_of(result)


async def test_everything_hides_the_tools_that_ask_from_a_client_that_cannot_answer(
    connect: Any,
) -> None:
    async with connect(EVERYTHING) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert not names & {"trigger-elicitation-request", "trigger-sampling-request", "get-roots-list"}


async def test_everything_logs_and_tells_of_updates(connect: Any) -> None:
    logs: asyncio.Queue[LoggingMessageNotificationParams] = asyncio.Queue()
    uri = "demo://resource/dynamic/text/1"
    async with connect(EVERYTHING, on_log=logs.put_nowait) as client:
        await client.set_logging_level("debug")
        async with client.listen(uris=[uri]) as changes:
            message = await logs.get()
            assert message.level == "info"
            assert message.data == f"Received Subscribe Resource request for URI: {uri} "
            await client.call_tool("toggle-subscriber-updates")
            change = await anext(changes)
            assert (change.method, change.uri) == ("notifications/resources/updated", uri)


async def test_everything_runs_a_tool_as_a_task(connect: Any) -> None:
    async with connect(EVERYTHING) as client:
        created = await client.call_tool_as_task("simulate-research-query", {"topic": "flags"})
        task = created.task
        assert task.status == "working"
        assert (await client.get_task(task.task_id)).task_id == task.task_id
        cancelled = await client.cancel_task(task.task_id)
        assert (cancelled.task_id, cancelled.status) == (task.task_id, "cancelled")


# --- server-filesystem


async def test_filesystem_reads_and_writes_where_it_may(connect: Any, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    async with connect("server-filesystem", str(folder)) as client:
        assert len((await client.list_tools()).tools) == 14
        read = await client.call_tool("read_text_file", {"path": str(folder / "a.txt")})
        assert read.structured_content == {"content": "alpha\nbeta\n"}
        head = {"path": str(folder / "a.txt"), "head": 1}
        assert text_of(await client.call_tool("read_text_file", head)) == "alpha"
        written = {"path": str(folder / "b.txt"), "content": "Grüße 🚩"}
        assert not (await client.call_tool("write_file", written)).is_error
        assert (folder / "b.txt").read_text(encoding="utf-8") == "Grüße 🚩"
        listed = await client.call_tool("list_directory", {"path": str(folder)})
        assert text_of(listed).splitlines() == ["[FILE] a.txt", "[FILE] b.txt"]
        denied = await client.call_tool("read_text_file", {"path": str(tmp_path / "secret")})
        assert denied.is_error is True
        assert text_of(denied).startswith("Access denied")
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(LocalProtocolError):
            await client.get_prompt("any")


async def test_filesystem_works_in_the_roots_of_the_client(connect: Any, tmp_path: Path) -> None:
    folder = tmp_path / "root"
    folder.mkdir()
    allowed = asyncio.Event()

    def watch(line: str) -> None:
        if line.startswith("Updated allowed directories from MCP roots"):
            allowed.set()

    async with connect("server-filesystem", roots=[folder], on_stderr=watch) as client:
        await allowed.wait()
        result = await client.call_tool("list_allowed_directories")
        assert text_of(result).splitlines()[1:] == [str(folder.resolve())]


# --- server-memory


async def test_memory_remembers_and_tells_of_it(connect: Any, tmp_path: Path) -> None:
    uri = "memory://knowledge-graph"
    ada = {"name": "Ada", "entityType": "person", "observations": ["waves flags"]}
    environ = {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}
    async with connect("server-memory", env=environ) as client:
        async with client.listen(uris=[uri]) as changes:
            await client.call_tool("create_entities", {"entities": [ada]})
            assert (await anext(changes)).uri == uri
        found = await client.call_tool("search_nodes", {"query": "flags"})
        assert found.structured_content == {"entities": [ada], "relations": []}
        [graph] = (await client.read_resource(uri)).contents
        assert graph.mime_type == "application/json"
        assert json.loads(graph.text)["entities"] == [ada]
    assert "waves flags" in (tmp_path / "memory.jsonl").read_text()


# --- server-sequential-thinking


async def test_sequential_thinking_keeps_its_drawings_off_the_wire(connect: Any) -> None:
    lines: list[str] = []
    thought = {
        "thought": "Start with the left flag.",
        "nextThoughtNeeded": True,
        "thoughtNumber": 1,
        "totalThoughts": 2,
    }
    async with connect("server-sequential-thinking", on_stderr=lines.append) as client:
        [tool] = (await client.list_tools()).tools
        assert tool.name == "sequentialthinking"
        assert tool.output_schema["type"] == "object"
        result = await client.call_tool("sequentialthinking", thought)
        assert result.structured_content == {
            "thoughtNumber": 1,
            "totalThoughts": 2,
            "nextThoughtNeeded": True,
            "branches": [],
            "thoughtHistoryLength": 1,
        }
    assert any("Start with the left flag." in line for line in lines)


# --- mcp-server-time, -git, -fetch


async def test_time_is_converted(connect: Any) -> None:
    async with connect("mcp-server-time", "--local-timezone", "Europe/Oslo") as client:
        assert client.protocol_version == MODERN
        assert client.server_info.name == "mcp-time"
        asked = {
            "source_timezone": "Asia/Tokyo",
            "time": "09:00",
            "target_timezone": "Asia/Kolkata",
        }
        converted = (await client.call_tool("convert_time", asked)).structured_content
        assert converted["target"]["datetime"].endswith("T05:30:00+05:30")
        assert converted["time_difference"] == "-3.5h"
        nowhere = await client.call_tool("get_current_time", {"timezone": "Nowhere/City"})
        assert nowhere.is_error is True
        assert "Nowhere/City" in text_of(nowhere)
        assert (await client.list_resources()).resources == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit and one file that is not yet in it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Ada"],
        ["config", "user.email", "ada@example.com"],
        ["commit", "-q", "--allow-empty", "-m", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    (folder / "flags.txt").write_text("left, right\n")
    return folder


def subjects(repository: Path) -> list[str]:
    """The subjects of the commits, newest first."""
    command = ["git", "log", "--format=%s"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_git_commits_what_it_is_told_to(connect: Any, repository: Path, mode: str) -> None:
    where = {"repo_path": str(repository)}
    async with connect("mcp-server-git", "--repository", str(repository), mode=mode) as client:
        status = text_of(await client.call_tool("git_status", where))
        assert "flags.txt" in status
        await client.call_tool("git_add", {**where, "files": ["flags.txt"]})
        made = await client.call_tool("git_commit", {**where, "message": "Add the flags"})
        assert made.is_error is not True
        log = text_of(await client.call_tool("git_log", {**where, "max_count": 2}))
        assert log.index("Add the flags") < log.index("Begin")
        wrong = await client.call_tool("git_status", {"repo_path": "/nonesuch"})
        assert wrong.is_error is True
    assert subjects(repository) == ["Add the flags", "Begin"]


class _Website(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        kind, body = "text/html", b"<html><body><h1>Flags</h1><p>One at a time.</p></body></html>"
        if self.path == "/robots.txt":
            kind, body = "text/plain", b"User-agent: *\nDisallow: /private\n"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def website() -> Iterator[str]:
    """The URL of a little website on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Website) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


async def test_fetch_brings_pages_and_minds_robots(connect: Any, website: str) -> None:
    async with connect("mcp-server-fetch", "--allow-private-ips") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["fetch"]
        page = await client.call_tool("fetch", {"url": f"{website}/page", "raw": True})
        assert "<h1>Flags</h1>" in text_of(page)
        refused = await client.call_tool("fetch", {"url": f"{website}/private"})
        assert refused.is_error is True
        assert "robots.txt" in text_of(refused)
        prompt = await client.get_prompt("fetch", {"url": f"{website}/page"})
        assert "One at a time." in prompt.messages[0].content.text
        wrong = await client.call_tool("fetch", {"url": f"{website}/page", "max_length": 0})
        assert wrong.is_error is True
