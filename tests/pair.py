"""The two ends of a conversation, pure and back to back: what most rules of MCP are tested with.

`Pair` has both of our ends and carries messages between them. `Scripted` has one of ours and is
itself the other, so that the peer can say what ours never would. Both show every message to a
`Conversation`, which knows nothing of our code and complains of whatever the revision forbids.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct

from tests.wire import Conversation, Side
from wigwag.protocol.client import ClientDescription, ClientProtocol
from wigwag.protocol.events import Connected, ConnectFailed, Event, RequestReceived
from wigwag.protocol.peer import PeerProtocol
from wigwag.protocol.server import Members, ServerDescription, ServerProtocol
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    PROTOCOL_VERSION_KEY,
    REVISIONS,
    ClientCapabilities,
    Implementation,
    PromptsCapability,
    ResourcesCapability,
    ServerCapabilities,
    ToolsCapability,
)

E = TypeVar("E")
Json: TypeAlias = Any
Message: TypeAlias = dict[str, Any]
Handlers: TypeAlias = dict[str, Callable[[RequestReceived], Struct | Members]]

EVERYTHING = ServerCapabilities(
    logging={},
    completions={},
    prompts=PromptsCapability(list_changed=True),
    resources=ResourcesCapability(subscribe=True, list_changed=True),
    tools=ToolsCapability(list_changed=True),
)
SERVER_INFO = Implementation(name="server", version="1.0")
CLIENT_INFO = Implementation(name="client", version="2.0")


def server_description(
    *,
    revisions: Sequence[str] = REVISIONS,
    capabilities: ServerCapabilities = EVERYTHING,
    instructions: str = "Be brief.",
) -> ServerDescription:
    return ServerDescription(
        SERVER_INFO,
        instructions=instructions,
        revisions=revisions,
        capabilities=lambda: capabilities,
    )


def client_description(
    *,
    revisions: Sequence[str] = REVISIONS,
    capabilities: ClientCapabilities | None = None,
) -> ClientDescription:
    return ClientDescription(
        info=CLIENT_INFO,
        revisions=tuple(revisions),
        capabilities=capabilities or ClientCapabilities(),
    )


def modern_meta(
    version: str = LATEST_MODERN, *, capabilities: Json | None = None, **more: Json
) -> Message:
    """Return the `_meta` that a request of the modern era needs."""
    return {
        PROTOCOL_VERSION_KEY: version,
        CLIENT_CAPABILITIES_KEY: {} if capabilities is None else capabilities,
        CLIENT_INFO_KEY: {"name": "client", "version": "2.0"},
        **more,
    }


def modern(**params: Json) -> Message:
    """Return the params of a request of the modern era."""
    return {"_meta": modern_meta(), **params}


def request(id_: Json, method: str, params: Json = None) -> Message:
    message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else message | {"params": params}


def notification(method: str, params: Json = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else message | {"params": params}


def result(id_: Json, value: Json) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": value}


def error(id_: Json, code: int, message: str = "no", data: Json = None) -> Message:
    body = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": id_, "error": body}


def initialize(
    version: str = LATEST_LEGACY, *, id_: Json = 1, capabilities: Json | None = None
) -> Message:
    params = {
        "protocolVersion": version,
        "capabilities": {} if capabilities is None else capabilities,
        "clientInfo": {"name": "client", "version": "2.0"},
    }
    return request(id_, "initialize", params)


def only(kind: type[E], events: Sequence[Event]) -> E:
    """Return the one event, which must be of this kind."""
    assert len(events) == 1, events
    (event,) = events
    assert isinstance(event, kind), event
    return event


def code_of(answers: Sequence[Json], id_: Json) -> int:
    """Return the code of the one error that there is, which must be under this id."""
    assert len(answers) == 1, answers
    (answer,) = answers
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)
    code: int = answer["error"]["code"]
    return code


class Pair:
    """A client and a server of ours, and what is on its way between them.

    Args:
        client: What the client says about itself.
        server: What the server says about itself.
        handlers: Answers to the requests that reach a handler, by method; the others stay in
            flight until the test answers them.
    """

    def __init__(
        self,
        client: ClientDescription | None = None,
        server: ServerDescription | None = None,
        handlers: Handlers | None = None,
        *,
        probe_timeout: float = 5.0,
        connect_timeout: float = 30.0,
    ) -> None:
        self.client = ClientProtocol(
            client or client_description(),
            probe_timeout=probe_timeout,
            connect_timeout=connect_timeout,
        )
        self.server = ServerProtocol(server or server_description())
        self.handlers = handlers or {}
        self.now = 0.0
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self.wire: list[tuple[Side, Json]] = []
        """Every message so far, with its sender."""
        self._conversation = Conversation()

    def connect(self, *, skip_probe: bool = False) -> Connected:
        """Let the two find out what they speak.

        Raises:
            Exception: What `ConnectFailed` brought.
        """
        self.client.connect(now=self.now, skip_probe=skip_probe)
        self.pump()
        event = self.client_events.pop()
        if isinstance(event, ConnectFailed):
            raise event.error
        assert isinstance(event, Connected), event
        self.server_events.clear()
        return event

    def pump(self) -> None:
        """Carry messages to and fro until nobody has anything more to say."""
        while self.deliver("client") + self.deliver("server"):
            pass

    def deliver(self, sender: Side) -> int:
        """Carry what one side wants to send to the other, and say how many messages it was."""
        ours, peer = self._ends(sender)
        messages = ours.messages_to_send()
        for data in messages:
            self._note(sender, data)
            events = peer.receive_message(data, now=self.now)
            (self.server_events if sender == "client" else self.client_events).extend(events)
            if sender == "client":
                self._handle(events)
        return len(messages)

    def lose(self, sender: Side) -> list[bytes]:
        """Take away what one side wants to send: the other never hears of it."""
        return self._ends(sender)[0].messages_to_send()

    def pass_time(self, seconds: float) -> None:
        """Let time pass, then let both sides do what is due and hear each other out."""
        self.now += seconds
        self.client_events += self.client.handle_timeout(self.now)
        self.server_events += self.server.handle_timeout(self.now)
        self.pump()

    def sent_by(self, sender: Side) -> list[Json]:
        """Return what one side has sent so far."""
        return [message for side, message in self.wire if side == sender]

    def methods_sent(self) -> list[str]:
        """Return the methods of what the client has sent so far."""
        return [message["method"] for message in self.sent_by("client") if "method" in message]

    @property
    def unanswered(self) -> list[str]:
        """The methods of the requests on the wire that were neither answered nor cancelled."""
        return self._conversation.unanswered

    def _ends(self, sender: Side) -> tuple[PeerProtocol, PeerProtocol]:
        if sender == "client":
            return self.client, self.server
        return self.server, self.client

    def _note(self, sender: Side, data: bytes) -> None:
        self.wire.append((sender, json.loads(data)))
        self._conversation.saw(sender, data)
        assert not self._conversation.problems, self._conversation.problems

    def _handle(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, RequestReceived) and event.method in self.handlers:
                self.server.send_result(event, self.handlers[event.method](event))


class Scripted:
    """One end of ours; the test plays the other.

    Args:
        end: The end of ours.
        plays: Which side the test plays.
        revision: The revision of a conversation whose handshake the test does not show.
    """

    def __init__(
        self,
        end: PeerProtocol,
        *,
        plays: Literal["client", "server"],
        revision: str | None = None,
    ) -> None:
        self.end = end
        self.now = 0.0
        self.events: list[Event] = []
        self._plays: Side = plays
        self._ours: Side = "server" if plays == "client" else "client"
        self._conversation = Conversation(revision=revision)

    def say(self, message: Json) -> list[Json]:
        """Say something that the rules allow and return what our end says to it."""
        data = json.dumps(message, ensure_ascii=False).encode()
        self._conversation.saw(self._plays, data)
        return self._tell(data)

    def say_wrongly(self, message: Json) -> list[Json]:
        """Say something that breaks the rules; `bytes` go as they are."""
        raw = isinstance(message, bytes)
        data = message if raw else json.dumps(message, ensure_ascii=False).encode()
        self._conversation.expect_invalid(self._plays)
        self._conversation.saw(self._plays, data)
        return self._tell(data)

    def heard(self) -> list[Json]:
        """Return what our end has said since the last time."""
        messages = self.end.messages_to_send()
        for data in messages:
            self._conversation.saw(self._ours, data)
        assert not self._conversation.problems, self._conversation.problems
        return [json.loads(data) for data in messages]

    def pass_time(self, seconds: float) -> list[Json]:
        """Let time pass and return what our end says then."""
        self.now += seconds
        self.events = list(self.end.handle_timeout(self.now))
        return self.heard()

    def _tell(self, data: bytes) -> list[Json]:
        self.events = list(self.end.receive_message(data, now=self.now))
        return self.heard()


class ScriptedClient(Scripted):
    """A server of ours, and a client that is the test's."""

    def __init__(self, description: ServerDescription | None = None) -> None:
        self.server = ServerProtocol(description or server_description())
        super().__init__(self.server, plays="client")

    def begin_session(
        self, version: str = LATEST_LEGACY, *, capabilities: Json | None = None
    ) -> Message:
        """Shake hands and return the result of `initialize`."""
        (answer,) = self.say(initialize(version, id_="init", capabilities=capabilities))
        assert self.say(notification("notifications/initialized")) == []
        value: Message = answer["result"]
        return value

    def ask(self, id_: Json, method: str, params: Json = None) -> RequestReceived:
        """Ask for something that a handler must answer."""
        assert self.say(request(id_, method, params)) == []
        return only(RequestReceived, self.events)


class ScriptedServer(Scripted):
    """A client of ours, and a server that is the test's."""

    def __init__(
        self,
        description: ClientDescription | None = None,
        *,
        probe_timeout: float = 5.0,
        connect_timeout: float = 30.0,
    ) -> None:
        self.client = ClientProtocol(
            description or client_description(),
            probe_timeout=probe_timeout,
            connect_timeout=connect_timeout,
        )
        super().__init__(self.client, plays="server")

    def greeted(self, *, skip_probe: bool = False) -> Message:
        """Let the client begin and return the first thing it says."""
        self.client.connect(now=self.now, skip_probe=skip_probe)
        (message,) = self.heard()
        first: Message = message
        return first

    def connect_modern(self, capabilities: Json | None = None) -> Connected:
        """Let the client find a modern server."""
        probe = self.greeted()
        assert self.say(result(probe["id"], discovered(capabilities=capabilities))) == []
        return only(Connected, self.events)

    def connect_legacy(
        self, version: str = LATEST_LEGACY, capabilities: Json | None = None
    ) -> Connected:
        """Let the client find a server of the legacy era."""
        greeting = self.greeted(skip_probe=True)
        (done,) = self.say(result(greeting["id"], initialized(version, capabilities=capabilities)))
        assert done == notification("notifications/initialized")
        return only(Connected, self.events)


def discovered(versions: Sequence[str] = (LATEST_MODERN,), capabilities: Json = None) -> Message:
    """Return a result of `server/discover`."""
    return {
        "resultType": "complete",
        "supportedVersions": list(versions),
        "capabilities": {"tools": {}} if capabilities is None else capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "server", "version": "1.0"}},
    }


def initialized(version: str = LATEST_LEGACY, capabilities: Json = None) -> Message:
    """Return a result of `initialize`."""
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}} if capabilities is None else capabilities,
        "serverInfo": {"name": "server", "version": "1.0"},
    }


__all__ = [
    "CLIENT_INFO",
    "EVERYTHING",
    "LEGACY_REVISIONS",
    "SERVER_INFO",
    "Pair",
    "Scripted",
    "ScriptedClient",
    "ScriptedServer",
    "client_description",
    "code_of",
    "discovered",
    "error",
    "initialize",
    "initialized",
    "modern",
    "modern_meta",
    "notification",
    "only",
    "request",
    "result",
    "server_description",
]
