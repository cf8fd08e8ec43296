"""The oracle itself: a judge that never objects would prove nothing."""

from typing import Any

import pytest

from tests.interop.conversation import MODERN, Follower, Oracle, Record

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def result(method: str, revision: str, body: dict[str, Any]) -> Record:
    """A result from a server."""
    return Record("server", "result", method, revision, {"jsonrpc": "2.0", "id": 1, "result": body})


def request(method: str, revision: str, params: dict[str, Any]) -> Record:
    """A request from a client."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Record("client", "request", method, revision, message)


def test_good_messages_are_not_objected_to(oracle: Oracle) -> None:
    cacheable = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    good = [
        request("tools/list", MODERN, {"_meta": META}),
        result("tools/list", MODERN, {"tools": [TOOL], **cacheable}),
        result("tools/list", "2025-06-18", {"tools": [TOOL]}),
        request("ping", "2024-11-05", {}),
    ]
    assert oracle.problems(good) == []


@pytest.mark.parametrize(
    ("bad", "objection"),
    [
        (result("tools/list", "2025-11-25", {"tools": [{"name": "echo"}]}), "inputSchema"),
        (result("tools/list", MODERN, {"tools": [TOOL]}), "resultType"),
        (result("ping", "2025-11-25", {"extra": None}), "null at $.result.extra"),
        (result("prompts/list", "2025-11-25", {"prompts": [], "more": 1}), "unknown member $.more"),
        (request("ping", MODERN, {"_meta": META}), "has no request of ping"),
        (request("tools/list", MODERN, {}), "_meta"),
        (request("tools/call", "2025-11-25", {"arguments": {}}), "name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_message_is_objected_to(oracle: Oracle, bad: Record, objection: str) -> None:
    problems = oracle.problems([bad])
    assert any(objection in problem for problem in problems), problems


def test_the_follower_knows_the_method_and_the_revision_of_a_response() -> None:
    follower = Follower()
    follower.follow("client", {"id": 0, "method": "server/discover", "params": {"_meta": META}})
    refusal = follower.follow("server", {"id": 0, "error": {"code": -32601, "message": "no"}})
    assert (refusal.method, refusal.revision, refusal.kind) == ("server/discover", MODERN, "error")
    hello = {"protocolVersion": "2025-11-25"}
    follower.follow("client", {"id": 1, "method": "initialize", "params": hello})
    answer = {"protocolVersion": "2025-03-26"}
    greeted = follower.follow("server", {"id": 1, "result": answer})
    assert (greeted.method, greeted.revision) == ("initialize", "2025-03-26")
    asked = follower.follow("server", {"id": 1, "method": "roots/list"})
    assert (asked.sender, asked.revision, asked.kind) == ("server", "2025-03-26", "request")
