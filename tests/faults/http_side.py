"""A fault server over HTTP: Streamable HTTP of both eras, and HTTP+SSE, on one port."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.faults.answers import (
    MODERN,
    Json,
    Message,
    acknowledged,
    answer_to,
    changed,
    encode,
    progress,
    spoiled,
    step_of,
)
from tests.faults.http_exchange import BIG_BODY_BYTES, Exchange
from tests.faults.orders import Fault, Orders

HTTP_SSE = "2024-11-05"
SESSION = "Mcp-Session-Id"
FOREVER = 600.0


def serve_http(folder: str, port: int) -> None:
    """Serve until the standard input ends."""

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    asyncio.run(_serve(folder, port))


async def _serve(folder: str, port: int) -> None:
    stages: dict[str, Stage] = {}

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                exchange = Exchange(head[:-4], reader, writer)
                stage = stages.setdefault(
                    exchange.path, Stage(Orders(os.path.join(folder, exchange.path)))
                )
                await stage.take(exchange)
                if exchange.is_over:
                    break
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


class Events:
    """A stream of events, which may outlive its exchange.

    Args:
        exchange: What carries it.
        name: What the ids of its events begin with; without a name they have none.
    """

    def __init__(self, exchange: Exchange, name: str = "") -> None:
        self.exchange = exchange
        self._name = name
        self.history: list[bytes] = []

    async def begin(self, headers: dict[str, str] | None = None) -> None:
        """Begin the response; with ids, so that it can be resumed from the beginning."""
        await self.exchange.begin_stream(headers)
        if self._name:
            await self.exchange.chunk(b"retry: 10\n" + self.event(b""))

    def event(self, data: bytes) -> bytes:
        """Return an event, and remember it."""
        head = f"id: {self._name}.{len(self.history)}\n" if self._name else ""
        event = head.encode() + b"data: " + data + b"\n\n"
        self.history.append(event)
        return event

    async def say(self, text: bytes) -> None:
        """Write an event."""
        await self.exchange.chunk(self.event(text))


class Stage:
    """One of the servers.

    Args:
        orders: What it is told to do.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._sessions: set[str] = set()
        self._streams: dict[str, Events] = {}  # by the beginning of the ids of their events
        self._own: dict[str, Events] = {}  # what is said of its own accord, by session or listener
        self._owed: dict[Json, Message] = {}
        self._faults: dict[str, Callable[[Exchange, Fault], Awaitable[None]]] = {
            "silent": self._be_silent,
            "status": self._answer_with_status,
            "cut": self._cut,
            "die": self._die,
        }

    @property
    def _plan(self) -> dict[str, Json]:
        return self._orders.plan()

    @property
    def _revision(self) -> str:
        revision: str = self._plan["revision"]
        return revision

    async def take(self, exchange: Exchange) -> None:
        """Answer a request, or do not."""
        if exchange.length > BIG_BODY_BYTES and "body" in self._plan["faults"]:
            self._orders.note(step="body")
            await asyncio.sleep(FOREVER)
        await exchange.read_body()
        if exchange.method == "POST":
            await self._post(exchange)
            return
        step = "resume" if "last-event-id" in exchange.headers else exchange.method
        self._orders.note(step=step, headers=exchange.headers)
        fault = self._orders.fault_at(step)
        if fault is not None and fault["is"] in self._faults:
            await self._faults[fault["is"]](exchange, {"step": step, **fault})
        elif self._revision == MODERN:
            await exchange.respond(405, headers={"Allow": "POST"})
        elif self._revision == HTTP_SSE:
            await self._open_http_sse(exchange)
        elif exchange.headers.get(SESSION.lower()) not in self._sessions:
            await exchange.respond(404)
        elif exchange.method == "DELETE":
            self._sessions.discard(exchange.headers[SESSION.lower()])
            await exchange.respond(200)
        elif step == "resume":
            await self._resume(exchange)
        else:
            await self._open_own(exchange, fault)

    # --- streams that the client asks for

    async def _open_http_sse(self, exchange: Exchange) -> None:
        name = f"s{len(self._own)}"
        stream = self._own[name] = Events(exchange)
        await stream.begin()
        await exchange.chunk(f"event: endpoint\ndata: /{exchange.path}?{name}\n\n".encode())
        await exchange.wait_left()
        self._orders.note(left="GET")

    async def _open_own(self, exchange: Exchange, fault: Fault | None) -> None:
        stream = self._new_stream(exchange)
        self._own[exchange.headers[SESSION.lower()]] = stream
        await stream.begin()
        self._orders.note(own_stream=True)
        if fault is not None:  # it ends
            await exchange.end_stream()
            return
        await exchange.wait_left()
        self._orders.note(left="GET")

    async def _resume(self, exchange: Exchange) -> None:
        name, _, number = exchange.headers["last-event-id"].rpartition(".")
        stream = self._streams.get(name)
        if stream is None:
            await exchange.respond(400)
            return
        await exchange.begin_stream()
        for event in stream.history[int(number) + 1 :]:
            await exchange.chunk(event)
        if stream in self._own.values():
            stream.exchange = exchange
            self._orders.note(own_stream=True)
            await exchange.wait_left()
        else:
            await exchange.end_stream()

    def _new_stream(self, exchange: Exchange) -> Events:
        if not self._plan["ids"]:
            return Events(exchange)
        name = f"e{os.getpid()}-{len(self._streams)}"
        self._streams[name] = Events(exchange, name)
        return self._streams[name]

    # --- messages

    async def _post(self, exchange: Exchange) -> None:
        message = json.loads(exchange.body)
        step = step_of(message)
        self._orders.note(step=step, message=message, headers=exchange.headers)
        fault = self._orders.fault_at(step)
        kind = "" if fault is None else fault["is"]
        if kind == "forget":
            self._sessions.clear()
        if kind in self._faults:
            await self._faults[kind](exchange, {"step": step, **(fault or {}), "message": message})
        elif self._revision == HTTP_SSE:
            await self._post_http_sse(exchange, message, fault)
        elif not self._is_admitted(exchange, message):
            await exchange.respond(404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"x"}}')
        elif "id" not in message or "method" not in message:
            await exchange.respond(202)
            await self._say_what_is_owed(message)
        elif step == "subscriptions/listen":
            await self._listen(exchange, message, fault)
        else:
            if step == "tell":
                await self._tell()
            await self._answer(exchange, message, fault)

    def _is_admitted(self, exchange: Exchange, message: Message) -> bool:
        is_first = message.get("method") in ("initialize", "server/discover")
        known = exchange.headers.get(SESSION.lower()) in self._sessions
        return self._revision == MODERN or is_first or known

    async def _post_http_sse(
        self, exchange: Exchange, message: Message, fault: Fault | None
    ) -> None:
        stream = self._own.get(exchange.query)
        if stream is None:
            await exchange.respond(405)
            return
        await exchange.respond(202)
        await self._say_what_is_owed(message)
        if "id" not in message or "method" not in message:
            return
        if step_of(message) == "tell":
            await self._tell()
        answer = answer_to(message, self._revision, fault)
        if fault is not None and fault["is"] == "late":
            self._owed[message["id"]] = answer
        elif fault is not None and fault["is"] == "slow":
            asyncio.get_running_loop().create_task(self._take_time(fault, message, stream, answer))
        elif fault is not None and fault["is"] == "stream cut":
            if fault["where"] == "inside":
                await stream.exchange.chunk(stream.event(encode(answer))[:-9])
            stream.exchange.cut()
        else:
            for text in [encode(answer)] if fault is None else spoiled(fault, answer):
                await stream.say(text)

    async def _take_time(
        self, fault: Fault, message: Message, stream: Events | None, answer: Message
    ) -> None:
        """Let time pass, with signs of progress; then say the answer, if there is a stream."""
        steps = fault.get("steps", 0)
        for number in range(max(1, steps)):
            await asyncio.sleep(fault["seconds"] / max(1, steps))
            if steps and stream is not None:
                await stream.say(encode(progress(message, number + 1)))
        if stream is not None:
            await stream.say(encode(answer))

    async def _say_what_is_owed(self, message: Message) -> None:
        """Say the answer to what was cancelled, on whatever stream there is for it."""
        if message.get("method") != "notifications/cancelled":
            return
        owed = self._owed.pop(message["params"]["requestId"], None)
        if owed is not None:
            for stream in self._own.values():
                await stream.say(encode(owed))
            self._orders.note(said_late=owed["id"])

    async def _tell(self) -> None:
        for name, stream in list(self._own.items()):
            await stream.say(
                encode(changed(json.loads(name) if self._revision == MODERN else None))
            )

    async def _listen(self, exchange: Exchange, message: Message, fault: Fault | None) -> None:
        name = json.dumps(message["id"])
        stream = self._own[name] = Events(exchange)
        await stream.begin()
        if fault is None or fault["is"] != "nothing":
            await stream.say(encode(acknowledged(message)))
        if fault is None:
            await exchange.wait_left()
            self._orders.note(left="subscriptions/listen")
        elif fault["is"] == "stream cut":
            exchange.cut()
        else:
            await exchange.end_stream()
        del self._own[name]

    async def _answer(self, exchange: Exchange, message: Message, fault: Fault | None) -> None:
        answer = answer_to(message, self._revision, fault)
        headers = {}
        if message["method"] == "initialize":
            session = f"{os.getpid()}-{len(self._orders.received('initialize'))}"
            self._sessions.add(session)
            headers[SESSION] = session
        if self._plan["answers"] == "sse":
            await self._answer_with_events(exchange, message, answer, fault, headers)
            return
        if fault is not None and fault["is"] == "slow":
            await self._take_time(fault, message, None, answer)
        elif fault is not None and fault["is"] == "late":
            await self._be_late(exchange, answer)
            return
        elif fault is not None and fault["is"] == "stream cut":
            body = encode(answer)
            await exchange.respond_in_part(body, len(body) - 9 if fault["where"] == "inside" else 0)
            return
        texts = [encode(answer)] if fault is None else spoiled(fault, answer)
        kind = "application/json" if fault is None else fault.get("kind", "application/json")
        await exchange.respond(200, b"\n".join(texts), kind=kind, headers=headers)

    async def _answer_with_events(
        self,
        exchange: Exchange,
        message: Message,
        answer: Message,
        fault: Fault | None,
        headers: dict[str, str],
    ) -> None:
        stream = self._new_stream(exchange)
        await stream.begin(headers)
        match None if fault is None else fault["is"]:
            case "slow":
                await self._take_time(fault or {}, message, stream, answer)
            case "late":
                await self._be_late(exchange, answer)
                return
            case "stream cut":
                await self._cut_stream(stream, answer, fault or {})
                return
            case None:
                await stream.say(encode(answer))
            case _:
                for text in spoiled(fault or {}, answer):
                    await stream.say(text)
        await exchange.end_stream()

    async def _cut_stream(self, stream: Events, answer: Message, fault: Fault) -> None:
        """End a stream somewhere; what was not said can be had by resuming, unless it is lost."""
        event = stream.event(encode(answer))
        if fault["where"] == "inside":
            await stream.exchange.chunk(event[:-9])
        elif fault["where"] == "behind":
            await stream.exchange.chunk(event)
        if fault.get("lost"):
            stream.history.pop()
        if fault.get("properly"):
            await stream.exchange.end_stream()
        else:
            stream.exchange.cut()

    async def _be_late(self, exchange: Exchange, answer: Message) -> None:
        self._owed[answer["id"]] = answer
        await exchange.wait_left()

    # --- faults of whole requests

    async def _be_silent(self, exchange: Exchange, fault: Fault) -> None:
        if fault.get("begins"):
            await exchange.begin_stream()
        await exchange.wait_left()
        self._orders.note(left=fault["step"])

    async def _answer_with_status(self, exchange: Exchange, fault: Fault) -> None:
        body = fault.get("body", "")
        if "error" in fault:
            id_ = fault.get("message", {}).get("id")
            body = json.dumps({"jsonrpc": "2.0", "id": id_, "error": fault["error"]})
        kind = fault.get("kind", "application/json")
        await exchange.respond(
            fault["status"], body.encode(), kind=kind, headers=fault.get("headers")
        )

    async def _cut(self, exchange: Exchange, fault: Fault) -> None:
        exchange.cut()

    async def _die(self, exchange: Exchange, fault: Fault) -> None:
        if fault.get("half"):
            await exchange.begin_stream()
            await exchange.chunk(b'data: {"jsonrpc')
        os._exit(fault.get("code", 1))
