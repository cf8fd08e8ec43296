"""Any order of requests, cancellations, results, progress and time, in every revision.

Two protocols with a pipe each way between them; messages wait in the pipes until a step carries
the next one over, so that everything may cross everything.
"""

import json
from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from msgspec import Struct

from tests.pair import client_description, server_description
from tests.wire import Conversation
from wigwag.jsonrpc.codec import encode_batch
from wigwag.jsonrpc.inflight import OutgoingRequest
from wigwag.protocol.client import ClientProtocol
from wigwag.protocol.events import (
    Connected,
    ErrorReceived,
    Event,
    ProgressReceived,
    RequestCancelled,
    RequestExpired,
    RequestReceived,
    ResponseReceived,
)
from wigwag.protocol.server import ServerProtocol
from wigwag.schema import (
    MODERN_REVISIONS,
    REVISIONS,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ListRootsResult,
    ListToolsResult,
    RootsCapability,
    SetLevelRequestParams,
)

NEVER = float("inf")
timeouts = st.sampled_from([3.0, 1.0, 10.0, NEVER])
# The last of them is answered on the spot.
methods = st.sampled_from(["tools/call", "tools/list", "logging/setLevel"])


class End:
    """One end, what it has on its way to the other, and what has become of its requests."""

    def __init__(self, protocol: Any) -> None:
        self.protocol = protocol
        self.pipe: list[bytes] = []
        self.fates: dict[OutgoingRequest, list[str]] = {}
        self.got: list[RequestReceived] = []
        self.cancelled: set[RequestReceived] = set()
        self.answered: Counter[Any] = Counter()
        self.ids: list[Any] = []


class Interleaving(RuleBasedStateMachine):
    asked = Bundle("asked")  # requests of the client
    questions = Bundle("questions")  # requests of the server

    @initialize(revision=st.sampled_from([*REVISIONS, "2025-03-26"]))
    def connect(self, revision: str) -> None:
        roots = ClientCapabilities(roots=RootsCapability())
        self.now = 0.0
        self.modern = revision in MODERN_REVISIONS
        self.revision = revision
        self.client = End(
            ClientProtocol(client_description(revisions=(revision,), capabilities=roots))
        )
        self.server = End(ServerProtocol(server_description()))
        self.conversation = Conversation()
        self.client.protocol.connect(now=self.now)
        self.carry_everything()
        assert self.client.protocol.connected is not None

    # --- the pipes

    def collect(self, end: End) -> None:
        """Put what an end wants to say into its pipe, and note what it is."""
        for data in end.protocol.messages_to_send():
            end.pipe.append(data)
            value = json.loads(data)
            for message in value if isinstance(value, list) else [value]:
                self.note_sent(end, message)

    def note_sent(self, end: End, message: Any) -> None:
        if "method" in message and "id" in message:
            end.ids.append(message["id"])
        elif "method" not in message:
            end.answered[json.dumps(message["id"])] += 1

    def carry(self, sender: End, receiver: End, *, together: int = 1) -> bool:
        """Carry the next message over, or the next few as one array."""
        self.collect(sender)
        if not sender.pipe:
            return False
        if together > 1 and self.revision == "2025-03-26" and sender is self.client:
            parts, sender.pipe = sender.pipe[:together], sender.pipe[together:]
            if any(part.startswith(b"[") for part in parts):
                sender.pipe = parts + sender.pipe
                return self.carry(sender, receiver)
            data = encode_batch(parts)
        else:
            data = sender.pipe.pop(0)
        self.conversation.saw("client" if sender is self.client else "server", data)
        for event in receiver.protocol.receive_message(data, now=self.now):
            self.note_event(receiver, event)
        self.collect(receiver)
        return True

    def note_event(self, end: End, event: Event) -> None:
        match event:
            case RequestReceived():
                end.got.append(event)
            case RequestCancelled():
                assert event.request in end.got
                end.cancelled.add(event.request)
            case ResponseReceived() | ErrorReceived() | RequestExpired():
                if not isinstance(event.request.token, str):  # of connecting
                    end.fates.setdefault(event.request, []).append(type(event).__name__)
            case ProgressReceived():
                assert end.fates[event.request] == []
            case Connected():
                pass

    # --- steps

    @rule(target=asked, method=methods, idle=timeouts, ceiling=timeouts)
    def ask(self, method: str, idle: float, ceiling: float) -> OutgoingRequest:
        return self.ask_one(method, idle=idle, ceiling=ceiling)

    def ask_one(self, method: str, *, idle: float, ceiling: float) -> OutgoingRequest:
        if self.modern and method == "logging/setLevel":
            method = "tools/list"
        params = PARAMS.get(method)
        request: OutgoingRequest = self.client.protocol.send_request(
            method, params, now=self.now, idle_timeout=idle, ceiling=ceiling
        )
        self.client.fates[request] = []
        self.collect(self.client)
        return request

    @precondition(lambda self: self.revision == "2025-03-26")
    @rule(chosen=st.lists(methods, min_size=2, max_size=4))
    def ask_in_an_array(self, chosen: list[str]) -> None:
        for method in chosen:
            self.ask_one(method, idle=NEVER, ceiling=NEVER)
        self.carry(self.client, self.server, together=len(chosen))

    @precondition(lambda self: not self.modern)
    @rule(target=questions, method=st.sampled_from(["roots/list", "ping"]), idle=timeouts)
    def ask_back(self, method: str, idle: float) -> Any:
        if not self.server.protocol.session.is_initialized and method != "ping":
            return multiple()
        request = self.server.protocol.send_request(method, now=self.now, idle_timeout=idle)
        self.server.fates[request] = []
        self.collect(self.server)
        return request

    @rule()
    def carry_to_server(self) -> None:
        self.carry(self.client, self.server)

    @rule()
    def carry_to_client(self) -> None:
        self.carry(self.server, self.client)

    @rule()
    def carry_everything(self) -> None:
        while self.carry(self.client, self.server) or self.carry(self.server, self.client):
            pass

    @rule(together=st.integers(2, 4))
    def carry_an_array_to_server(self, together: int) -> None:
        self.carry(self.client, self.server, together=together)

    @rule(number=st.integers(0), right=st.booleans())
    def answer(self, number: int, right: bool) -> None:  # noqa: FBT001 - drawn
        self.answer_one(self.server, number, right=right)

    @rule(number=st.integers(0), right=st.booleans())
    def answer_back(self, number: int, right: bool) -> None:  # noqa: FBT001 - drawn
        self.answer_one(self.client, number, right=right)

    def answer_one(self, end: End, number: int, *, right: bool) -> None:
        """Answer any request that ever came, answered and cancelled ones among them."""
        if not end.got:
            return
        request = end.got[number % len(end.got)]
        was_open = end.protocol.is_in_flight(request)
        before = end.answered.total()
        if right:
            end.protocol.send_result(request, RESULTS[request.method])
        else:
            end.protocol.send_error(request, -32602, "no")
        self.collect(end)
        assert not end.protocol.is_in_flight(request)
        if not was_open:
            assert end.answered.total() == before

    @rule(number=st.integers(0), value=st.floats(0, 100), level=st.sampled_from(["debug", "error"]))
    def tell(self, number: int, value: float, level: Any) -> None:
        """Report progress and log for any request that ever came."""
        if not self.server.got:
            return
        request = self.server.got[number % len(self.server.got)]
        was_open = self.server.protocol.is_in_flight(request)
        self.collect(self.server)
        self.server.protocol.send_progress(request, value)
        self.server.protocol.send_log(request, level, "x")
        said = len(self.server.pipe)
        self.collect(self.server)
        assert was_open or len(self.server.pipe) == said

    @rule(request=asked)
    def give_up(self, request: OutgoingRequest) -> None:
        self.forget(self.client, request)

    @rule(number=st.integers(0))
    def give_up_what_is_open(self, number: int) -> None:
        waiting = [request for request, fate in self.client.fates.items() if not fate]
        if waiting:
            self.forget(self.client, waiting[number % len(waiting)])

    @rule(request=consumes(questions))
    def give_up_asking_back(self, request: OutgoingRequest) -> None:
        self.forget(self.server, request)

    def forget(self, end: End, request: OutgoingRequest) -> None:
        said = len(end.pipe)
        end.protocol.forget(request, "not needed")
        self.collect(end)
        if end.fates[request]:
            assert len(end.pipe) == said
        else:
            assert len(end.pipe) == said + 1  # the peer is told
            end.fates[request].append("forgotten")

    @rule(seconds=st.sampled_from([1.0, 5.0, 0.5, 0.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for end in (self.client, self.server):
            for event in end.protocol.handle_timeout(self.now):
                self.note_event(end, event)
            deadline = end.protocol.next_deadline()
            assert deadline is None or deadline > self.now
            self.collect(end)

    # --- what always holds

    @invariant()
    def ids_are_never_used_twice(self) -> None:
        for end in (self.client, self.server):
            assert len(end.ids) == len(set(end.ids))

    @invariant()
    def nothing_is_answered_twice(self) -> None:
        for end in (self.client, self.server):
            assert all(times == 1 for times in end.answered.values())

    @invariant()
    def every_request_has_one_fate_at_most(self) -> None:
        for end in (self.client, self.server):
            assert all(len(fate) <= 1 for fate in end.fates.values())

    @invariant()
    def nothing_is_open_that_was_cancelled(self) -> None:
        for end in (self.client, self.server):
            assert not end.cancelled & set(end.protocol.requests_in_flight())

    @invariant()
    def nothing_forbidden_is_said(self) -> None:
        assert self.conversation.problems == []

    def teardown(self) -> None:
        """Bring everything to its end: then nothing may be left anywhere."""
        for _ in range(1000):
            busy = self.carry(self.client, self.server) or self.carry(self.server, self.client)
            for end in (self.client, self.server):
                for request in end.protocol.requests_in_flight():
                    end.protocol.send_result(request, RESULTS[request.method])
                    busy = True
                self.collect(end)
            if not busy:
                break
        else:
            raise AssertionError("it never ends")
        for end in (self.client, self.server):
            assert [fate for fate in end.fates.values() if len(fate) != 1] == []
            assert end.protocol.requests_in_flight() == []
            assert end.protocol.fail_all() == []
            assert end.protocol.next_deadline() is None
        self.ids_are_never_used_twice()
        self.nothing_is_answered_twice()
        self.nothing_forbidden_is_said()


PARAMS: dict[str, Struct] = {
    "tools/call": CallToolRequestParams(name="a"),
    "logging/setLevel": SetLevelRequestParams(level="error"),
}
RESULTS = {
    "tools/call": CallToolResult(content=[]),
    "tools/list": ListToolsResult(tools=[]),
    "roots/list": ListRootsResult(roots=[]),
}

# Many steps go nowhere, so that there must be more examples than elsewhere.
Interleaving.TestCase.settings = settings(max_examples=max(200, settings().max_examples))
test_any_order_of_steps_leaves_nothing_behind = Interleaving.TestCase
