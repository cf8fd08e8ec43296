"""Breaks messages in every way there is, and sees that `tests/wire.py` notices."""

import copy
import json
from typing import Any

import pytest

from tests.facts.table import REVISIONS
from tests.wire import Conversation, Side, WireValidator

V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28 = REVISIONS
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": V2026_07_28,
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOL = {"name": "add", "inputSchema": {"type": "object", "properties": {}, "$schema": "x"}}
TEXT = {"type": "text", "text": "a"}


def request(method: str, params: Any = None, *, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, {"_meta": MODERN_META} | params)


def notification(method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else message | {"params": params}


def result(value: Any, *, id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(code: Any, message: Any = "no", **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message} | members}


def problems(
    message: Any, revision: str, sender: Side = "client", answers: str | None = None
) -> list[str]:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return WireValidator().validate_message(data, revision=revision, sender=sender, answers=answers)


INITIALIZE = request(
    "initialize",
    {
        "protocolVersion": V2025_06_18,
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
)
INITIALIZED = {
    "protocolVersion": V2025_06_18,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_a_handshake_and_a_call_are_fine_in_every_legacy_revision(revision: str) -> None:
    assert problems(INITIALIZE, revision) == []
    assert problems(result(INITIALIZED), revision, "server", "initialize") == []
    assert problems(notification("notifications/initialized"), revision) == []
    assert problems(request("ping"), revision, "server") == []
    assert problems(result({}), revision, "client", "ping") == []
    meta = {"progressToken": 1, "com.example/x": None}
    assert problems(request("tools/list", {"_meta": meta, "cursor": ""}), revision) == []
    listed = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}], "nextCursor": ""}
    assert problems(result(listed), revision, "server", "tools/list") == []
    call = request("tools/call", {"name": "add", "arguments": {"a": None}}, id="x")
    assert problems(call, revision) == []
    assert problems(result({"content": [TEXT]}), revision, "server", "tools/call") == []
    progress = {"progressToken": 1, "progress": 0.5, "total": 1}
    assert problems(notification("notifications/progress", progress), revision, "server") == []


def test_what_a_modern_conversation_says_is_fine() -> None:
    assert problems(modern("server/discover"), V2026_07_28) == []
    cacheable = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    discovered = cacheable | {"supportedVersions": [V2026_07_28], "capabilities": {}}
    discovered["_meta"] = {"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}
    assert problems(result(discovered), V2026_07_28, "server", "server/discover") == []
    listed = cacheable | {"tools": [TOOL | {"outputSchema": {"type": "array"}}]}
    assert problems(result(listed), V2026_07_28, "server", "tools/list") == []
    called: Any = {"resultType": "complete", "content": [], "structuredContent": None}
    assert problems(result(called), V2026_07_28, "server", "tools/call") == []
    assert problems(modern("tools/call", name="add", inputResponses={}), V2026_07_28) == []
    asked = {
        "resultType": "input_required",
        "requestState": "s",
        "inputRequests": {
            "who": {
                "method": "elicitation/create",
                "params": {
                    "message": "Who?",
                    "requestedSchema": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "minLength": 1}},
                    },
                },
            },
            "where": {"method": "roots/list"},
        },
    }
    assert problems(result(asked), V2026_07_28, "server", "tools/call") == []


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"{", "no JSON"),
        (b'"\xff"', "no JSON"),
        (b'{"jsonrpc":"2.0","method":"ping","id":NaN}', "NaN is no number"),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}', "twice"),
        (b"1", "is no object"),
        ({"id": 1, "method": "ping"}, "jsonrpc"),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": 1}, "should have one of"),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}}, "should have one of"),
        ({"jsonrpc": "2.0", "id": 1, "error": {}, "result": {}}, "should have one of"),
        (request("ping", id=None), "id: None"),
        (request("ping", id=1.5), "id: 1.5"),
        (request("ping", id=True), "id: True"),
        (request("ping", []), "params: is no object"),
        ({"jsonrpc": "2.0", "id": 1, "method": 1}, "method: is no string"),
        ({"jsonrpc": "2.0", "result": {}}, "id: is missing"),
        (result(None), "result: is no object"),
        (result({}, id=None), "id: None"),
        (error("x"), "error.code"),
        (error(1.5), "error.code"),
        (error([]), "error.code"),
        (error(1, message=None), "error.message"),
        ({"jsonrpc": "2.0", "id": 1, "error": "no"}, "error.code"),
        (error(1) | {"id": 1.5}, "id: 1.5"),
        (error(1) | {"id": None}, "id: None"),
    ],
    ids=str,
)
def test_a_broken_envelope_is_noticed(message: Any, expected: str) -> None:
    assert any(expected in problem for problem in problems(message, V2025_11_25))


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_message_says_that_it_is_json_rpc(revision: str) -> None:
    assert problems({"id": 1, "result": {}}, revision, "server") == ["jsonrpc: is not 2.0"]


def test_an_error_without_an_id_is_fine_where_there_was_none_to_read() -> None:
    unreadable = error(-32700)
    del unreadable["id"]
    for revision in REVISIONS:
        assert problems(unreadable, revision, "server") == []
    for revision in (V2025_11_25, V2026_07_28):
        assert problems(unreadable | {"id": None}, revision, "server")
    assert problems(unreadable | {"id": None}, V2025_06_18, "server") == []
    other = error(-32603)
    del other["id"]
    assert problems(other, V2025_06_18, "server")


def test_batches_exist_in_one_revision_and_are_judged_one_by_one() -> None:
    batch = [request("ping"), request("ping", id=1.5), notification("notifications/initialized")]
    assert problems(batch[::2], V2025_03_26) == []
    assert problems(batch[::2], V2025_06_18) == ["is a batch, which this revision does not have"]
    assert problems(batch, V2025_03_26) == ["[1] id: 1.5 is no id"]
    assert problems([], V2025_03_26) == ["is an empty batch"]
    assert problems([INITIALIZE], V2025_03_26) == ["initialize is inside a batch"]


@pytest.mark.parametrize(
    ("message", "revision", "sender", "expected"),
    [
        (request("tools/paint"), V2025_11_25, "client", "tools/paint does not exist"),
        (modern("ping"), V2026_07_28, "client", "ping does not exist"),
        (request("server/discover"), V2025_11_25, "client", "server/discover does not exist"),
        (notification("ping"), V2025_11_25, "client", "ping is no notification"),
        (
            request("notifications/initialized"),
            V2025_11_25,
            "client",
            "notifications/initialized is no request",
        ),
        (request("tools/list"), V2025_11_25, "server", "a server sends no tools/list"),
        (request("roots/list"), V2025_11_25, "client", "a client sends no roots/list"),
        (
            request("roots/list", {}),
            V2026_07_28,
            "server",
            "a server sends no roots/list",
        ),
        (
            notification("notifications/progress", {"progressToken": 1, "progress": 1}),
            V2026_07_28,
            "client",
            "a client sends no notifications/progress",
        ),
        (result({}), V2026_07_28, "client", "a modern client sends no responses"),
        (error(1), V2026_07_28, "client", "a modern client sends no responses"),
    ],
)
def test_who_may_send_what_is_checked(
    message: Any, revision: str, sender: Side, expected: str
) -> None:
    assert problems(message, revision, sender) == [expected]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, "params: name is missing"),
        ({"name": 1}, "params.name: 1 is no string"),
        ({"name": None}, "params.name: null is no string"),
        ({"name": "add", "arguments": []}, "params.arguments: [] is no object"),
        ({"name": "add", "_meta": []}, "params._meta: [] is no object"),
        ({"name": "add", "_meta": {"progressToken": 1.5}}, "progressToken: 1.5 is none of"),
    ],
    ids=str,
)
def test_broken_params_are_noticed_in_every_revision(
    revision: str, params: dict[str, Any], expected: str
) -> None:
    if revision == V2026_07_28 and isinstance(params.get("_meta", {}), dict):
        params = params | {"_meta": MODERN_META | params.get("_meta", {})}
    found = problems(request("tools/call", params), revision)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize("key", MODERN_META)
def test_a_modern_request_needs_its_meta(key: str) -> None:
    meta = {name: value for name, value in MODERN_META.items() if name != key}
    found = problems(request("tools/list", {"_meta": meta}), V2026_07_28)
    assert found == [f"params._meta: {key} is missing"]
    assert problems(request("tools/list", {}), V2026_07_28) == ["params: _meta is missing"]
    assert problems(request("tools/list"), V2026_07_28) == ["params is missing"]


@pytest.mark.parametrize("revision", REVISIONS[:-1])
def test_modern_meta_in_a_legacy_request_is_noticed(revision: str) -> None:
    found = problems(modern("tools/list"), revision)
    assert found == [f"params._meta: {key} is of another revision" for key in sorted(MODERN_META)]


@pytest.mark.parametrize(
    ("extra", "revision"),
    [
        ({"title": "Add"}, V2025_03_26),
        ({"annotations": {}}, V2024_11_05),
        ({"icons": []}, V2025_06_18),
        ({"execution": {}}, V2025_06_18),
        ({"execution": {}}, V2026_07_28),
        ({"_meta": {}}, V2025_03_26),
        ({"outputSchema": {"type": "object"}}, V2025_03_26),
    ],
    ids=str,
)
def test_a_member_of_another_revision_is_noticed(extra: dict[str, Any], revision: str) -> None:
    listed: dict[str, Any] = {"tools": [TOOL | extra]}
    if revision == V2026_07_28:
        listed |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    (name,) = extra
    found = problems(result(listed), revision, "server", "tools/list")
    assert found == [f"result.tools[0]: {name} is of another revision"]


def test_members_that_no_revision_knows_are_fine() -> None:
    listed = {"tools": [TOOL | {"colour": "red"}], "flavour": 1}
    assert problems(result(listed), V2025_11_25, "server", "tools/list") == []


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"description": None}, "tools[0].description: null is no string"),
        ({"inputSchema": {}}, "tools[0].inputSchema: type is missing"),
        ({"inputSchema": {"type": "array"}}, 'inputSchema.type: "array" is not "object"'),
        ({"annotations": {"readOnlyHint": 1}}, "annotations.readOnlyHint: 1 is no boolean"),
        ({"icons": {}}, "icons: {} is no array"),
        ({"icons": [{}]}, "icons[0]: src is missing"),
        ({"icons": [{"src": "a", "theme": "red"}]}, "theme: \"red\" is none of ['dark', 'light']"),
        ({"outputSchema": {"type": "array"}}, 'outputSchema.type: "array" is not "object"'),
    ],
    ids=str,
)
def test_a_broken_part_of_a_result_is_noticed(extra: dict[str, Any], expected: str) -> None:
    (found,) = problems(result({"tools": [TOOL | extra]}), V2025_11_25, "server", "tools/list")
    assert expected in found


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text"}, "content[0]: text is missing"),
        ({"type": "image", "data": "", "mimeType": 1}, "content[0].mimeType: 1 is no string"),
        ({"type": "hologram"}, "is none of"),
        ({"type": "tool_use", "id": "1", "name": "n", "input": {}}, "is none of"),
        ({"type": "resource", "resource": {"uri": "a:1"}}, "resource: blob is missing"),
        (TEXT | {"annotations": {"priority": 2}}, "annotations.priority: 2 is more than 1"),
        (TEXT | {"annotations": {"priority": -1}}, "annotations.priority: -1 is less than 0"),
        (TEXT | {"annotations": {"audience": ["all"]}}, "audience[0]"),
    ],
    ids=str,
)
def test_a_broken_content_block_is_noticed(block: dict[str, Any], expected: str) -> None:
    (found,) = problems(result({"content": [block]}), V2025_11_25, "server", "tools/call")
    assert expected in found


@pytest.mark.parametrize(
    ("block", "first"),
    [
        ({"type": "audio", "data": "", "mimeType": "audio/wav"}, V2025_03_26),
        ({"type": "resource_link", "uri": "a:1", "name": "a"}, V2025_06_18),
    ],
    ids=str,
)
def test_a_block_that_the_revision_does_not_know_is_noticed(
    block: dict[str, Any], first: str
) -> None:
    for revision in REVISIONS[:-1]:
        found = problems(result({"content": [block]}), revision, "server", "tools/call")
        assert (found == []) is (revision >= first)


def test_sampling_content_is_one_block_before_it_may_be_a_list() -> None:
    answer = {"role": "assistant", "model": "m", "content": [TEXT]}
    assert problems(result(answer), V2025_11_25, "client", "sampling/createMessage") == []
    assert problems(result(answer), V2025_06_18, "client", "sampling/createMessage")


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe"])
def test_an_empty_legacy_result_is_empty(method: str) -> None:
    assert problems(result({}), V2025_11_25, "server", method) == []
    assert problems(result({"_meta": {}}), V2025_11_25, "server", method) == []
    assert problems(result({"ok": True}), V2025_11_25, "server", method)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"resultType": None}, "result.resultType: null is no string"),
        ({"ttlMs": -1}, "result.ttlMs: -1 is less than 0"),
        ({"ttlMs": 1.5}, "result.ttlMs: 1.5 is no integer"),
        ({"cacheScope": "all"}, "result.cacheScope"),
        ({"nextCursor": None}, "result.nextCursor: null is no string"),
        ({"resultType": "zzz"}, "'zzz' is no type of this result"),
        ({"resultType": "input_required"}, "'input_required' is no type of this result"),
    ],
    ids=str,
)
def test_a_broken_modern_result_is_noticed(change: dict[str, Any], expected: str) -> None:
    listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": []}
    (found,) = problems(result(listed | change), V2026_07_28, "server", "tools/list")
    assert expected in found


@pytest.mark.parametrize("member", ["resultType", "ttlMs", "cacheScope"])
def test_a_modern_result_without_its_hints_is_noticed(member: str) -> None:
    listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": []}
    del listed[member]
    found = problems(result(listed), V2026_07_28, "server", "tools/list")
    assert found == [f"result: {member} is missing"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "not for which"),
        ({"requestState": "s", "ttlMs": 0}, "has ['ttlMs']"),
        ({"requestState": 1}, "requestState: 1 is no string"),
        ({"inputRequests": {"a": {"method": "tools/list"}}}, "inputRequests[a]"),
        ({"inputRequests": {"a": {"method": "elicitation/create", "params": {}}}}, "message"),
        (
            {
                "inputRequests": {
                    "a": {
                        "method": "elicitation/create",
                        "params": {
                            "mode": "url",
                            "message": "m",
                            "url": "https://x",
                            "elicitationId": "1",
                        },
                    }
                }
            },
            "elicitationId is of another revision",
        ),
    ],
    ids=str,
)
def test_a_broken_question_is_noticed(asked: dict[str, Any], expected: str) -> None:
    message = result({"resultType": "input_required"} | asked)
    found = problems(message, V2026_07_28, "server", "tools/call")
    assert any(expected in problem for problem in found)


def test_a_list_that_is_too_long_is_noticed() -> None:
    completed = {"resultType": "complete", "completion": {"values": ["a"] * 100}}
    message = result(completed)
    assert problems(message, V2026_07_28, "server", "completion/complete") == []
    completed["completion"] = {"values": ["a"] * 101}
    (found,) = problems(message, V2026_07_28, "server", "completion/complete")
    assert found == "result.completion.values: has 101 items, more than 100"


def test_a_task_is_a_result_where_tasks_are() -> None:
    task = {
        "taskId": "1",
        "status": "working",
        "createdAt": "x",
        "lastUpdatedAt": "x",
        "ttl": None,
    }
    assert problems(result({"task": task}), V2025_11_25, "server", "tools/call") == []
    assert problems(result({"task": {}}), V2025_11_25, "server", "tools/call")
    assert problems(result({"task": task}), V2025_11_25, "server", "tools/list")
    assert problems(result({"task": task}), V2025_06_18, "server", "tools/call")
    assert problems(result(task), V2025_11_25, "server", "tasks/get") == []
    del task["ttl"]
    found = problems(result(task), V2025_11_25, "server", "tasks/get")
    assert found == ["result: ttl is missing"]


@pytest.mark.parametrize(
    ("code", "data", "is_fine"),
    [
        (-32021, {"requiredCapabilities": {"sampling": {}}}, True),
        (-32021, {"requiredCapabilities": ["sampling"]}, False),
        (-32021, None, False),
        (-32022, {"supported": [V2026_07_28], "requested": "v"}, True),
        (-32022, {"supported": [V2026_07_28]}, False),
        (-32020, None, True),
        (-32603, ["anything"], True),
    ],
)
@pytest.mark.parametrize("revision", [V2025_11_25, V2026_07_28])
def test_the_data_of_an_error_are_those_of_its_code(
    code: int, data: Any, is_fine: object, revision: str
) -> None:
    message = error(code) if data is None else error(code, data=data)
    assert (problems(message, revision, "server") == []) is is_fine


def test_extensions_are_let_through_when_they_are_named() -> None:
    validator = WireValidator(extensions=["tasks/update", "task"])
    update = json.dumps(modern("tasks/update")).encode()
    assert validator.validate_message(update, revision=V2026_07_28, sender="client") == []
    task = json.dumps(result({"resultType": "task", "taskId": "1"})).encode()
    assert (
        validator.validate_message(
            task, revision=V2026_07_28, sender="server", answers="tools/call"
        )
        == []
    )
    assert problems(modern("tasks/update"), V2026_07_28)


def test_extensions_may_be_declared_in_2025_11_25_already() -> None:
    message = copy.deepcopy(INITIALIZE)
    message["params"]["capabilities"] = {"extensions": {"a/b": {}}}
    assert problems(message, V2025_11_25) == []
    assert problems(message, V2025_06_18) == [
        "params.capabilities: extensions is of another revision"
    ]


def talk(conversation: Conversation, *messages: tuple[Side, Any]) -> list[str]:
    for sender, message in messages:
        conversation.saw(sender, json.dumps(message).encode())
    return conversation.problems


HANDSHAKE: list[tuple[Side, Any]] = [
    ("client", INITIALIZE | {"id": 0}),
    ("server", result(INITIALIZED, id=0)),
    ("client", notification("notifications/initialized")),
]


def test_a_conversation_has_the_revision_that_was_agreed_upon() -> None:
    conversation = Conversation()
    assert talk(conversation, *HANDSHAKE) == []
    assert conversation.revision == V2025_06_18
    titled = result({"tools": [TOOL | {"title": "Add"}]})
    assert talk(conversation, ("client", request("tools/list")), ("server", titled)) == []
    iconic = result({"tools": [TOOL | {"icons": []}]}, id=2)
    (problem,) = talk(conversation, ("client", request("tools/list", id=2)), ("server", iconic))
    assert problem.startswith("server: result.tools[0]: icons is of another revision -- {")


def test_a_handshake_cannot_agree_upon_a_modern_revision() -> None:
    agreed = result(INITIALIZED | {"protocolVersion": V2026_07_28}, id=0)
    (problem,) = talk(Conversation(), HANDSHAKE[0], ("server", agreed))
    assert "has agreed upon '2026-07-28'" in problem


def test_a_modern_request_speaks_for_itself_beside_a_legacy_session() -> None:
    conversation = Conversation()
    legacy = result({"content": []}, id=2)
    talk(
        conversation,
        *HANDSHAKE,
        ("client", modern("tools/call", name="add")),
        ("client", request("tools/call", {"name": "add"}, id=2)),
        ("server", legacy),
    )
    assert conversation.problems == []
    (problem,) = talk(conversation, ("server", result({"content": []}, id=1)))
    assert "resultType is missing" in problem


def test_a_modern_conversation_needs_no_handshake() -> None:
    conversation = Conversation()
    subscription = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    listen = modern("subscriptions/listen", notifications={})
    acknowledged = subscription | {"notifications": {}}
    log = {"level": "info", "data": None, "_meta": subscription["_meta"]}
    assert (
        talk(
            conversation,
            ("client", listen),
            ("server", notification("notifications/subscriptions/acknowledged", acknowledged)),
            ("server", notification("notifications/tools/list_changed", subscription)),
            ("server", notification("notifications/message", log)),
            ("server", notification("notifications/cancelled", {"requestId": 1})),
        )
        == []
    )
    assert conversation.unanswered == []


def test_an_unknown_version_is_judged_as_the_newest() -> None:
    message = modern("server/discover")
    message["params"]["_meta"] = MODERN_META | {"io.modelcontextprotocol/protocolVersion": "v9"}
    refusal = error(-32022, data={"supported": [V2026_07_28], "requested": "v9"})
    assert talk(Conversation(), ("client", message), ("server", refusal)) == []


def test_the_server_may_ask_and_is_answered() -> None:
    conversation = Conversation()
    roots = {"roots": [{"uri": "file:///a"}]}
    # Ids of the two sides have nothing to do with each other.
    assert (
        talk(
            conversation,
            *HANDSHAKE,
            ("server", request("roots/list", id=0)),
            ("client", result(roots, id=0)),
        )
        == []
    )
    (problem,) = talk(
        conversation, ("server", request("roots/list")), ("client", result({"roots": None}))
    )
    assert "result.roots: null is no array" in problem


def test_an_answer_to_nothing_and_a_second_answer_are_noticed() -> None:
    conversation = Conversation(revision=V2025_11_25)
    (problem,) = talk(conversation, ("server", result({})))
    assert "what was not asked" in problem
    talk(conversation, ("client", request("ping")), ("server", result({})))
    assert len(conversation.problems) == 1
    (_, problem) = talk(conversation, ("server", result({})))
    assert "a second time" in problem


def test_an_id_is_not_the_same_as_a_string_or_number_that_looks_like_it() -> None:
    conversation = Conversation(revision=V2025_11_25)
    (problem,) = talk(
        conversation, ("client", request("ping", id=1)), ("server", result({}, id="1"))
    )
    assert "what was not asked" in problem


def test_an_id_in_use_is_noticed_and_in_legacy_one_that_was_ever_used() -> None:
    legacy = Conversation(revision=V2025_11_25)
    talk(legacy, ("client", request("ping")), ("server", result({})))
    (problem,) = talk(legacy, ("client", request("ping")))
    assert "was used before" in problem
    listed = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": []}
    again = Conversation()
    list_, answer = ("client", modern("tools/list")), ("server", result(listed))
    assert talk(again, list_, answer, list_, answer) == []  # type: ignore[arg-type]
    (problem,) = talk(again, list_, list_)  # type: ignore[arg-type]
    assert "in flight" in problem


def test_a_modern_id_may_be_used_again_after_it_was_cancelled() -> None:
    conversation = Conversation()
    call = modern("tools/call", name="add")
    call["params"]["_meta"] = MODERN_META | {"progressToken": "t"}
    cancelled = notification("notifications/cancelled", {"requestId": 1})
    progress = notification("notifications/progress", {"progressToken": "t", "progress": 1})
    for _ in range(2):
        talk(conversation, ("client", call), ("server", progress), ("client", cancelled))
    talk(conversation, ("client", call), ("server", progress))
    assert conversation.problems == []
    assert conversation.unanswered == ["tools/call"]


def test_requests_without_an_answer_are_known() -> None:
    conversation = Conversation(revision=V2025_11_25)
    cancelled = notification("notifications/cancelled", {"requestId": 2})
    talk(
        conversation,
        ("client", request("ping", id=1)),
        ("client", request("tools/list", id=2)),
        ("client", cancelled),
    )
    assert conversation.unanswered == ["ping"]
    assert talk(conversation, ("server", result({}, id=1))) == []
    assert conversation.unanswered == []


def test_progress_belongs_to_a_request_and_grows() -> None:
    conversation = Conversation(revision=V2025_11_25)
    call = request("tools/call", {"name": "add", "_meta": {"progressToken": "t"}})

    def progress(value: float, token: str = "t") -> tuple[Side, Any]:
        params = {"progressToken": token, "progress": value}
        return "server", notification("notifications/progress", params)

    assert talk(conversation, ("client", call), progress(0), progress(0.5)) == []
    (problem,) = talk(conversation, progress(0.5))
    assert "does not grow" in problem
    (_, problem) = talk(conversation, progress(1, token="u"))
    assert "is of no request" in problem


def test_progress_has_the_revision_of_its_request() -> None:
    conversation = Conversation(revision=V2024_11_05)
    call = modern("tools/call", name="add")
    call["params"]["_meta"] = MODERN_META | {"progressToken": "t"}
    params = {"progressToken": "t", "progress": 1, "message": "half"}
    message = notification("notifications/progress", params)
    assert talk(conversation, ("client", call), ("server", message)) == []


def test_messages_that_are_malformed_on_purpose_are_no_problem() -> None:
    conversation = Conversation(revision=V2025_11_25)
    conversation.expect_invalid("client", messages=2)
    conversation.saw("client", b"{")
    refusal = error(-32700)
    del refusal["id"]
    assert talk(conversation, ("server", refusal), ("client", request("tools/paint", id=1))) == []
    assert talk(conversation, ("server", error(-32601))) == []
    assert talk(conversation, ("client", request("tools/paint", id=2))) != []


def test_a_message_that_should_have_been_malformed_and_is_not_is_a_problem() -> None:
    conversation = Conversation(revision=V2025_11_25)
    conversation.expect_invalid("client")
    (problem,) = talk(conversation, ("client", request("ping")))
    assert "should have been malformed" in problem


def test_the_messages_of_a_batch_are_followed_one_by_one() -> None:
    batch = [request("ping", id=1), request("tools/list", id=2)]
    answers = [result({"tools": []}, id=2), result({}, id=1)]
    conversation = Conversation(revision=V2025_03_26)
    assert talk(conversation, ("client", batch), ("server", answers)) == []
    (problem,) = talk(Conversation(revision=V2025_06_18), ("client", [request("ping", id=3)]))
    assert "batch" in problem
