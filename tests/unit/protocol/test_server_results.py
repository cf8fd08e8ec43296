from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tests.pair import (
    EVERYTHING,
    ScriptedClient,
    code_of,
    error,
    modern,
    modern_meta,
    request,
    result,
    server_description,
)
from wigwag.errors import LocalProtocolError
from wigwag.jsonrpc.codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
)
from wigwag.protocol.events import (
    RequestReceived,
)
from wigwag.schema import (
    LEGACY_REVISIONS,
    LOG_LEVEL_KEY,
    SERVER_INFO_KEY,
    V2024_11_05,
    V2025_06_18,
    V2025_11_25,
    AudioContent,
    CallToolResult,
    CompleteResult,
    Completion,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)

IDENTITY = {SERVER_INFO_KEY: {"name": "server", "version": "1.0"}}
DONE = CallToolResult(content=[TextContent(text="done")])


def listing(**more: Any) -> ListToolsResult:
    tool = Tool(name="a", title="A", input_schema={"type": "object"})
    return ListToolsResult(tools=[tool], **more)


# --- results


def test_a_modern_result_says_that_it_is_complete_and_who_made_it() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_result(got, DONE)
    (answer,) = client.heard()
    assert answer["result"] == {
        "resultType": "complete",
        "_meta": IDENTITY,
        "content": [{"type": "text", "text": "done"}],
    }


def test_a_result_that_may_be_kept_says_that_it_should_not() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/list", modern())
    client.server.send_result(got, listing())
    (answer,) = client.heard()
    assert (answer["result"]["ttlMs"], answer["result"]["cacheScope"]) == (0, "private")


@pytest.mark.parametrize(("ttl", "sent"), [(60_000, 60_000), (-5, 0), (1.9, 1), (0, 0)])
def test_a_handler_says_how_long_its_result_may_be_kept(ttl: float, sent: int) -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/list", modern())
    client.server.send_result(got, listing(ttl_ms=ttl, cache_scope="public"))
    (answer,) = client.heard()
    assert (answer["result"]["ttlMs"], answer["result"]["cacheScope"]) == (sent, "public")
    assert type(answer["result"]["ttlMs"]) is int


def test_the_meta_of_a_result_is_kept_beside_the_name_of_the_server() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_result(
        got, CallToolResult(content=[], meta={"example.com/trace": [1]}, structured_content=None)
    )
    (answer,) = client.heard()
    assert answer["result"]["_meta"] == {**IDENTITY, "example.com/trace": [1]}
    assert answer["result"]["structuredContent"] is None
    assert answer["result"]["resultType"] == "complete"


def test_a_result_that_asks_for_input_keeps_its_type_and_may_not_be_kept() -> None:
    client = ScriptedClient()
    got = client.ask(1, "resources/read", modern(uri="a:1"))
    client.server.send_result(
        got, InputRequiredResult(result_type="input_required", request_state="s")
    )
    (answer,) = client.heard()
    assert answer["result"] == {
        "resultType": "input_required",
        "requestState": "s",
        "_meta": IDENTITY,
    }


@pytest.mark.parametrize("version", LEGACY_REVISIONS)
def test_a_result_is_made_to_fit_the_revision_of_its_request(version: str) -> None:
    client = ScriptedClient()
    client.begin_session(version)
    got = client.ask(1, "tools/list")
    client.server.send_result(got, listing(ttl_ms=1, cache_scope="public"))
    (answer,) = client.heard()
    (tool,) = answer["result"]["tools"]
    assert ("title" in tool) is (version in (V2025_06_18, V2025_11_25))
    assert set(answer["result"]) == {"tools"}
    got = client.ask(2, "tools/call", {"name": "a"})
    audio = AudioContent(data="AA==", mime_type="audio/wav")
    client.server.send_result(
        got, CallToolResult(content=[audio], structured_content={"a": 1}, meta=dict(IDENTITY))
    )
    (answer,) = client.heard()
    (block,) = answer["result"]["content"]
    assert block["type"] == ("text" if version == V2024_11_05 else "audio")
    assert ("structuredContent" in answer["result"]) is (version in (V2025_06_18, V2025_11_25))
    assert "_meta" not in answer["result"]
    assert "resultType" not in answer["result"]


def test_a_result_that_json_cannot_hold_is_the_handlers_mistake_and_still_to_be_answered() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    with pytest.raises(LocalProtocolError):
        client.server.send_result(got, CallToolResult(content=[TextContent(text="\ud800")]))
    assert client.heard() == []
    assert client.server.is_in_flight(got)
    client.server.send_error(got, INTERNAL_ERROR, "Internal error")
    assert code_of(client.heard(), 1) == INTERNAL_ERROR


def test_in_the_oldest_revision_completions_need_no_capability() -> None:
    client = ScriptedClient()
    value = client.begin_session(V2024_11_05)
    assert "completions" not in value["capabilities"]
    ref = {"type": "ref/prompt", "name": "a"}
    got = client.ask(1, "completion/complete", {"ref": ref, "argument": {"name": "b", "value": ""}})
    client.server.send_result(got, CompleteResult(completion=Completion(values=["x"])))
    assert client.heard() == [result(1, {"completion": {"values": ["x"]}})]


# --- errors of the legacy era


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_an_unknown_resource_has_the_code_of_its_era(era: str) -> None:
    client = ScriptedClient()
    if era == "legacy":
        client.begin_session()
    got = client.ask(1, "resources/read", {"uri": "a:1"} | (modern() if era == "modern" else {}))
    client.server.send_error(got, -32002, "Resource not found: a:1", {"uri": "a:1"})
    (answer,) = client.heard()
    code = INVALID_PARAMS if era == "modern" else -32002
    assert answer == error(1, code, "Resource not found: a:1", {"uri": "a:1"})


def test_the_modern_era_has_no_error_that_asks_for_a_visit() -> None:
    client = ScriptedClient()
    got = client.ask(1, "tools/call", modern(name="a"))
    client.server.send_error(got, -32042, "Visit", {"elicitations": []})
    assert client.heard() == [error(1, INTERNAL_ERROR, "Visit")]


def levels_sent(client: ScriptedClient, got: RequestReceived) -> list[str]:
    for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
        client.server.send_log(got, level, {"a": 1}, "main")
    return [message["params"]["level"] for message in client.heard()]


# --- log messages


def test_who_does_not_ask_for_log_messages_in_the_modern_era_gets_none() -> None:
    client = ScriptedClient()
    assert levels_sent(client, client.ask(1, "tools/call", modern(name="a"))) == []


def test_a_modern_request_gets_log_messages_from_its_level_up() -> None:
    client = ScriptedClient()
    meta = modern_meta(**{LOG_LEVEL_KEY: "critical"})
    got = client.ask(1, "tools/call", {"name": "a", "_meta": meta})
    assert levels_sent(client, got) == ["critical", "alert", "emergency"]
    assert levels_sent(client, client.ask(2, "tools/call", modern(name="a"))) == []
    client.server.send_result(got, DONE)
    client.heard()
    assert levels_sent(client, got) == []


def test_a_session_has_a_level_that_its_client_sets() -> None:
    client = ScriptedClient()
    client.begin_session()
    assert "debug" in levels_sent(client, client.ask(1, "tools/call", {"name": "a"}))
    assert client.say(request(2, "logging/setLevel", {"level": "alert"})) == [result(2, {})]
    got = client.ask(3, "tools/call", {"name": "a"})
    assert levels_sent(client, got) == ["alert", "emergency"]
    assert levels_sent(client, client.ask(4, "tools/call", modern(name="a"))) == []


@pytest.mark.parametrize("level", ["loud", "", None, 3])
def test_a_level_that_does_not_exist_is_refused(level: Any) -> None:
    client = ScriptedClient()
    meta = modern_meta(**{LOG_LEVEL_KEY: level})
    assert code_of(client.say_wrongly(request(1, "tools/list", {"_meta": meta})), 1) == (
        INVALID_PARAMS
    )
    client.begin_session()
    answers = client.say_wrongly(request(2, "logging/setLevel", {"level": level}))
    assert code_of(answers, 2) == INVALID_PARAMS
    assert client.server.session is not None
    assert client.server.session.log_level == "debug"


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_server_without_the_logging_capability_sends_no_log_messages(era: str) -> None:
    capabilities = replace(EVERYTHING, logging=UNSET)
    client = ScriptedClient(server_description(capabilities=capabilities))
    params: dict[str, Any] = {"name": "a"}
    if era == "legacy":
        client.begin_session()
    else:
        params["_meta"] = modern_meta(**{LOG_LEVEL_KEY: "debug"})
    assert levels_sent(client, client.ask(1, "tools/call", params)) == []
