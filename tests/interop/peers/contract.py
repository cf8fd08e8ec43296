"""What every peer here serves and asks for, so that one set of expectations fits them all.

Standard library only: each peer's own Python imports it. (`contract.mjs` is its counterpart for
Node.)

A server offers:

- tools `echo(text)`, `add(a, b)`, `fail()`, `weather(city)` with an output schema, `slow(seconds,
  steps)` that reports progress before each of its naps, `wait_cancelled()` that answers once a
  `slow` was cancelled, `log_something()`, `touch()` that says the greeting was updated, `grow()`
  that registers the tool `grown`, `ask_name()` (elicitation), `ask_model(prompt)` (sampling) and
  `ask_roots()`;
- the resource `demo://greeting` and the template `demo://users/{id}`;
- the prompt `greet(name)`, with completion of `name`.

It is called without arguments to serve on stdio, or with `--http KIND`: then it serves over HTTP,
at a free port of this machine, and prints the URL on one line. `KIND` is `plain`, `json` (answers
are never streams), `stateless` (there are no sessions) or `sse` (HTTP+SSE of 2024-11-05).

A client is called as `client --era auto|modern|legacy -- COMMAND ...`, or with a URL in place of
the command, one that ends in `/sse` for HTTP+SSE. A revision in place of the era makes it offer
that one, where the SDK can be brought to it. It makes the tour of all that, and prints one JSON
object: the name of each step, and what came of it. A step that failed has `error` (the exception's
name), `code` and `message`; one that the SDK has no means for has `unsupported`.
"""

import argparse
import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

NAMES = ["Ada", "Alan", "Grace"]
GREETING = "Hello, world!"
INSTRUCTIONS = "A demonstration."
AWKWARD_TEXT = 'grüße, 世界 \u2028\n"🚩"'
STEP_SECONDS = 20
TOUR_SECONDS = 90

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


def weather_of(city: str) -> dict[str, Any]:
    return {"city": city, "temperature": 21.5, "conditions": "sunny"}


def user_of(id: str) -> str:
    return json.dumps({"id": id, "name": f"User {id}"}, separators=(",", ":"))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="auto")
    parser.add_argument("command", nargs="+")
    parsed = parser.parse_args()
    [target, *_] = parsed.command
    parsed.url = target if target.startswith("http://") else None
    parsed.is_sse = parsed.url is not None and parsed.url.endswith("/sse")
    return parsed


def environment() -> dict[str, str]:
    """All of our environment, for the server: SDKs differ in what they pass on by themselves."""
    return dict(os.environ)


class Client:
    """One SDK's client, in the words of this contract. What it lacks is not implemented."""

    logs: list[list[Any]]
    notified: asyncio.Queue[str]

    def __init__(self) -> None:
        self.logs = []
        self.notified = asyncio.Queue()

    async def identity(self) -> dict[str, Any]:
        raise NotImplementedError

    async def tools(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        on_progress: Progress | None = None,
        log_level: str | None = None,
    ) -> dict[str, Any]:
        raise NotImplementedError

    async def begin_and_cancel(self, name: str, arguments: dict[str, Any]) -> None:
        """Calls a tool, waits for its first progress, and cancels the call."""
        begun = asyncio.Event()

        async def on_progress(*_: Any) -> None:
            begun.set()

        task = asyncio.create_task(self.call(name, arguments, on_progress))
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])

    async def resources(self) -> list[str]:
        raise NotImplementedError

    async def templates(self) -> list[str]:
        raise NotImplementedError

    async def read(self, uri: str) -> list[list[Any]]:
        raise NotImplementedError

    async def prompts(self) -> list[list[Any]]:
        raise NotImplementedError

    async def get(self, name: str, arguments: dict[str, str]) -> list[list[Any]]:
        raise NotImplementedError

    async def complete(self, prompt: str, argument: str, value: str) -> dict[str, Any]:
        raise NotImplementedError

    async def ping(self) -> bool:
        raise NotImplementedError

    async def set_level(self, level: str) -> None:
        raise NotImplementedError

    async def subscribe(self, uri: str) -> None:
        raise NotImplementedError

    async def unsubscribe(self, uri: str) -> None:
        raise NotImplementedError

    async def roots_changed(self) -> None:
        raise NotImplementedError

    async def listen_updated(self, uri: str, act: Callable[[], Awaitable[Any]]) -> str:
        """Opens a listen stream for one resource, does `act`, and returns the URI it names."""
        raise NotImplementedError

    async def listen_tools(self, act: Callable[[], Awaitable[Any]]) -> bool:
        """Opens a listen stream for the tools, does `act`, and waits until the stream says so."""
        raise NotImplementedError


class Report(dict[str, Any]):
    """What came of each step, in the order they were taken."""

    async def call_step(self, name: str, tool: str, action: Callable[[], Awaitable[Any]]) -> None:
        """Takes a step that begins with one tool, if the server has it."""
        tools = self["tools"]
        if isinstance(tools, list) and all(each["name"] != tool for each in tools):
            self[name] = {"unsupported": True}
        else:
            await self.step(name, action)

    async def step(self, name: str, action: Callable[[], Awaitable[Any]]) -> None:
        """Takes one step within `STEP_SECONDS`, and writes down its outcome or its failure."""
        try:
            async with asyncio.timeout(STEP_SECONDS):
                self[name] = await action()
        except NotImplementedError:
            self[name] = {"unsupported": True}
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is the outcome
            inner = getattr(error, "error", error)
            self[name] = {
                "error": type(error).__name__,
                "code": getattr(inner, "code", None),
                "message": getattr(inner, "message", None) or str(error),
            }


async def tour(client: Client, report: Report) -> None:
    """Takes every step of the contract."""
    report.update(await client.identity())
    modern = report["protocol_version"] == "2026-07-28"
    await report.step("tools", client.tools)
    await _calls(client, report)
    await _reads(client, report)
    await report.call_step("ask_name", "ask_name", lambda: client.call("ask_name", {}))
    ask_model = {"prompt": "hello"}
    await report.call_step("ask_model", "ask_model", lambda: client.call("ask_model", ask_model))
    await report.call_step("ask_roots", "ask_roots", lambda: client.call("ask_roots", {}))
    if modern:
        await _modern_only(client, report)
    else:
        await _legacy_only(client, report)


async def _calls(client: Client, report: Report) -> None:
    progress: list[Any] = []

    async def on_progress(*args: Any) -> None:
        progress.append(list(args))

    async def cancel() -> dict[str, Any]:
        await client.begin_and_cancel("slow", {"seconds": 60})
        return await client.call("wait_cancelled", {})

    async def concurrent() -> list[str]:
        calls = [client.call("echo", {"text": f"number {n}"}) for n in range(20)]
        return [outcome["text"] for outcome in await asyncio.gather(*calls)]

    await report.step("echo", lambda: client.call("echo", {"text": AWKWARD_TEXT}))
    await report.step("add", lambda: client.call("add", {"a": 2, "b": 3}))
    await report.step("weather", lambda: client.call("weather", {"city": "Oslo"}))
    await report.step("fail", lambda: client.call("fail", {}))
    await report.step("unknown_tool", lambda: client.call("nonesuch", {}))
    await report.step("wrong_argument", lambda: client.call("add", {"a": "two", "b": 3}))
    await report.step("missing_argument", lambda: client.call("add", {"a": 2}))
    await report.step(
        "slow", lambda: client.call("slow", {"seconds": 0.15, "steps": 3}, on_progress)
    )
    report["progress"] = progress
    await report.step("cancel", cancel)
    await report.step("concurrent", concurrent)


async def _reads(client: Client, report: Report) -> None:
    await report.step("resources", client.resources)
    await report.step("templates", client.templates)
    await report.step("read_greeting", lambda: client.read("demo://greeting"))
    await report.step("read_user", lambda: client.read("demo://users/7"))
    await report.step("read_missing", lambda: client.read("demo://nonesuch"))
    await report.step("prompts", client.prompts)
    await report.step("get_prompt", lambda: client.get("greet", {"name": "Ada"}))
    await report.step("unknown_prompt", lambda: client.get("nonesuch", {}))
    await report.step("prompt_without_argument", lambda: client.get("greet", {}))
    await report.step("complete", lambda: client.complete("greet", "name", "A"))


async def _has_grown(client: Client) -> bool:
    return any(tool["name"] == "grown" for tool in await client.tools())


async def _legacy_only(client: Client, report: Report) -> None:
    async def updated() -> str:
        await client.subscribe("demo://greeting")
        await client.call("touch", {})
        seen = await client.notified.get()
        await client.unsubscribe("demo://greeting")
        return seen

    async def grown() -> list[Any]:
        await client.call("grow", {})
        return [await client.notified.get(), await _has_grown(client)]

    async def still_there() -> bool:
        await client.roots_changed()
        return await client.ping()

    await report.step("ping", client.ping)
    await report.step("set_level_warning", lambda: client.set_level("warning"))
    client.logs.clear()
    await report.step("log_at_warning", lambda: client.call("log_something", {}))
    report["logs_at_warning"] = list(client.logs)
    await report.step("set_level_debug", lambda: client.set_level("debug"))
    client.logs.clear()
    await report.step("log_at_debug", lambda: client.call("log_something", {}))
    report["logs_at_debug"] = list(client.logs)
    await report.call_step("updated", "touch", updated)
    await report.call_step("grown", "grow", grown)
    await report.step("after_roots_changed", still_there)


async def _modern_only(client: Client, report: Report) -> None:
    async def updated() -> str:
        return await client.listen_updated("demo://greeting", lambda: client.call("touch", {}))

    async def grown() -> list[Any]:
        seen = await client.listen_tools(lambda: client.call("grow", {}))
        return [seen, await _has_grown(client)]

    client.logs.clear()
    await report.step(
        "log_at_warning", lambda: client.call("log_something", {}, log_level="warning")
    )
    report["logs_at_warning"] = list(client.logs)
    client.logs.clear()
    await report.step("log_at_debug", lambda: client.call("log_something", {}, log_level="debug"))
    report["logs_at_debug"] = list(client.logs)
    await report.call_step("updated", "touch", updated)
    await report.call_step("grown", "grow", grown)


def http_kind() -> str | None:
    """How to serve over HTTP, if so."""
    return sys.argv[2] if sys.argv[1:2] == ["--http"] else None


def serve_http(app: Any, path: str) -> None:
    """Serves an ASGI application at a free port, and says where, until the process is ended."""
    import uvicorn  # noqa: PLC0415 - our own server does not need it

    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
        config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


def run(go: Callable[[Report], Awaitable[None]]) -> None:
    """Runs a client, and prints its report on one line."""

    async def bounded() -> Report:
        report = Report()
        async with asyncio.timeout(TOUR_SECONDS):
            await go(report)
        return report

    json.dump(asyncio.run(bounded()), sys.stdout)
    print(flush=True)
