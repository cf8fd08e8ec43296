r"""Plays a transcript: one side is what is written down, the other is ours.

A transcript is a file of JSON, a step a line. The first line says what it shows:

    {"page": "basic/lifecycle", "about": "…", "ours": "server"}

`page` is a page of the specification. `ours` is the side that is played by our code; what it is
made of stands under its name (`"server": {"page_size": 2}`). Then:

    {"client": {…}}, {"server": {…}}   a message; of the other side it is said, of ours expected
    {"client": …, "broken": true}      the same, against the rules on purpose
    {"text": "{\"jsonrpc\": …"}        bytes that the other side sends as they are, no message
    {"note": "…"}                      for the reader
    {"seconds": 5}                     time passes (for a client of ours)
    {"do": "tools/list", "params": {}} our client asks for something; or `cancel`s the request `id`
    {"becomes": "…"}                   what our client makes of what it has heard, expected
"""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import convert
from msgspec.json import decode

from tests.pair import client_description
from tests.transcripts.kite import make_server
from tests.wire import Conversation, Side
from wigwag.protocol.client import ClientProtocol
from wigwag.protocol.events import (
    AnswerInvalid,
    Connected,
    ConnectFailed,
    ErrorReceived,
    Event,
    MessageIgnored,
    NotificationReceived,
    ProgressReceived,
    RequestExpired,
    RequestReceived,
    ResponseReceived,
)
from wigwag.schema import METHODS, REVISIONS, ClientCapabilities
from wigwag.transports.contract import Received
from wigwag.transports.memory import memory_pair

Step: TypeAlias = dict[str, Any]

# However many turns of the event loop a handler of the help-desk needs, it needs fewer.
_TURNS = 60
_WITH_METHOD = (RequestReceived, NotificationReceived)
# References to the log are drawn at random.
_REFERENCE = re.compile(r"reference [0-9a-f]{8}")
# What an answer to a message against the rules looks like to a `Conversation`.
_CONSEQUENCES = ("answers what was not asked", "answers a second time")


def read(path: Path) -> tuple[Step, list[Step]]:
    """Return what a transcript shows, and its steps."""
    first, *rest = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    return json.loads(first), [json.loads(line) for line in rest]


def write(path: Path, header: Step, steps: list[Step]) -> None:
    path.write_text("".join(map(_line, (header, *steps))), encoding="utf-8", newline="\n")


def _line(step: Step) -> str:
    text = json.dumps(step, ensure_ascii=False)
    # What cannot be seen is better escaped.
    return (text if text.isprintable() else json.dumps(step)) + "\n"


def play(header: Step, steps: list[Step]) -> list[Step]:
    """Say the lines of the other side and return the transcript with ours as they are now."""
    if header["ours"] == "server":
        return asyncio.run(_play_against_server(header, steps))
    return list(_play_against_client(header, steps))


def _bytes_of(step: Step, side: str) -> bytes:
    if "text" in step:
        text: str = step["text"]
        return text.encode("utf-8", "surrogateescape")
    return json.dumps(step[side], ensure_ascii=False).encode()


class _Judge:
    """Shows both sides to a `Conversation`; what is no message has no place in one."""

    def __init__(self) -> None:
        self._conversation = Conversation()
        self._has_erred = False  # the other side has said something that it may not

    def said(self, side: Side, step: Step, data: bytes) -> None:
        self._has_erred |= "text" in step or step.get("broken", False)
        if "text" in step:
            return
        if step.get("broken"):
            self._conversation.expect_invalid(side)
        self._conversation.saw(side, data)

    def heard(self, side: Side, data: bytes) -> None:
        self._conversation.saw(side, data)
        problems = [
            problem
            for problem in self._conversation.problems
            if not (self._has_erred and any(words in problem for words in _CONSEQUENCES))
        ]
        self._conversation.problems.clear()
        assert problems == [], problems


# --- a server of ours


class _Ears:
    """Keeps what the server says."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def messages_received(self, messages: list[Received]) -> None:
        self.heard += [message for message in messages if isinstance(message, bytes)]

    def end_of_input(self) -> None: ...

    def connection_lost(self, reason: Exception | None) -> None: ...


async def _play_against_server(header: Step, steps: list[Step]) -> list[Step]:
    settings = dict(header.get("server", {}))
    server = make_server(**settings)
    judge, ears, played = _Judge(), _Ears(), list[Step]()
    async with server.running():
        ours, theirs = memory_pair()
        served = server.start(ours)
        theirs.start(ears)  # type: ignore[arg-type]  # a list is a sequence
        try:
            for step in steps:
                if "server" in step:
                    continue
                played.append(step)
                if "note" in step:
                    continue
                data = _bytes_of(step, "client")
                judge.said("client", step, data)
                theirs.send([data])
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                for answer in ears.heard:
                    judge.heard("server", answer)
                    played.append({"server": _always_the_same(answer)})
                ears.heard.clear()
        finally:
            await served.aclose()
    return played


def _always_the_same(message: bytes) -> Any:
    """Return a message without what differs from run to run."""
    value = json.loads(_REFERENCE.sub("reference 00000000", message.decode()))
    # The answers in an array come in the order in which the handlers have finished.
    return sorted(value, key=_id_of) if isinstance(value, list) else value


def _id_of(message: Any) -> str:
    return json.dumps(message.get("id"))


# --- a client of ours


def _play_against_client(header: Step, steps: list[Step]) -> Iterator[Step]:
    settings = dict(header.get("client", {}))
    client = ClientProtocol(
        client_description(
            revisions=settings.get("revisions", REVISIONS),
            capabilities=convert(settings.get("capabilities", {}), ClientCapabilities),
        ),
        probe_timeout=5.0,
        connect_timeout=30.0,
    )
    judge, now = _Judge(), 0.0
    client.connect(now=now, skip_probe=settings.get("skip_probe", False))
    yield from _told(client, [], judge)
    for step in steps:
        if "client" in step or "becomes" in step:
            continue
        yield step
        events: list[Event] = []
        if "seconds" in step:
            now += step["seconds"]
            events += client.handle_timeout(now)
        elif "do" in step:
            _do(client, step, now)
        elif "note" not in step:
            data = _bytes_of(step, "server")
            judge.said("server", step, data)
            events += client.receive_message(data, now=now)
        yield from _told(client, events, judge)


def _do(client: ClientProtocol, step: Step, now: float) -> None:
    match step["do"]:
        case "cancel":
            request = client._outgoing.get(step["id"])
            assert request is not None
            client.forget(request, step["reason"])
        case "answer":
            (asked,) = client.requests_in_flight()
            result = METHODS[asked.method].result
            client.send_result(asked, convert(step["result"], result))
        case method:
            params = convert(step.get("params", {}), METHODS[method].params)
            client.send_request(method, params, now=now, idle_timeout=10.0, ceiling=60.0)


def _told(client: ClientProtocol, events: list[Event], judge: _Judge) -> Iterator[Step]:
    for event in events:
        yield {"becomes": _in_words(event)}
    for data in client.messages_to_send():
        judge.heard("client", data)
        yield {"client": json.loads(data)}


def _in_words(event: Event) -> str:
    name = type(event).__name__
    match event:
        case Connected():
            about = event.revision
        case ConnectFailed():
            about = f"{type(event.error).__name__}: {event.error}"
        case ErrorReceived():
            about = f"{event.request.method}, {event.error.message} ({event.error.code})"
        case ResponseReceived():
            about = f"{event.request.method}, with {', '.join(sorted(decode(event.result)))}"
        case RequestExpired():
            about = f"{event.request.method}, {event.limit}"
        case ProgressReceived():
            about = f"{event.request.method}, {event.params.progress:g}"
        case AnswerInvalid() | MessageIgnored():
            about = event.reason
        case _:
            about = event.method if isinstance(event, _WITH_METHOD) else ""
    return f"{name}: {about}"
