"""What a message is about, in a few words."""

import json
from typing import Any

import pytest
from msgspec import Raw

from wigwag.tracing.conversation import Conversation
from wigwag.tracing.records import MessageRecord
from wigwag.tracing.summaries import MAX_CHARACTERS, summary_of


def summary(message: Any) -> str:
    raw = Raw(json.dumps(message).encode())
    (entry,) = Conversation().follow(MessageRecord(at=0, sender="client", message=raw))
    return summary_of(entry)


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("tools/call", {"name": "add", "arguments": {"a": 1, "b": "Đ"}}, 'add {"a":1,"b":"Đ"}'),
        ("tools/call", {"name": "now", "arguments": {}, "_meta": {"progressToken": 1}}, "now"),
        ("prompts/get", {"name": "triage", "arguments": {"id": "7"}}, 'triage {"id":"7"}'),
        ("resources/read", {"uri": "file:///a"}, "file:///a"),
        ("tools/list", {"cursor": "x"}, '{"cursor":"x"}'),
        ("tools/list", {"_meta": {}}, ""),
        ("tools/list", None, ""),
        (
            "initialize",
            {"protocolVersion": "2025-11-25", "clientInfo": {"name": "host", "version": "1"}},
            "2025-11-25 host 1",
        ),
        (
            "notifications/message",
            {"level": "info", "logger": "db", "data": "opened"},
            "info db: opened",
        ),
        ("notifications/message", {"level": "info", "data": {"a": 1}}, 'info: {"a":1}'),
        (
            "notifications/progress",
            {"progressToken": 1, "progress": 1, "total": 3, "message": "looking"},
            "1 of 3 looking",
        ),
        ("notifications/progress", {"progress": 5}, "5"),
        ("notifications/cancelled", {"requestId": "a", "reason": "slow"}, '"a" slow'),
        ("resources/read", {"uri": 5}, '{"uri":5}'),
        ("tools/call", [1], "[1]"),
    ],
)
def test_requests_and_notifications_say_what_they_want(method: str, params: Any, said: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    assert summary(message if params is None else {**message, "params": params}) == said


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"tools": [{"name": "add"}, {"name": "sub"}]}, "2 tools: add, sub"),
        ({"tools": []}, "0 tools"),
        ({"resources": [{"uri": "a:b"}]}, "1 resource: a:b"),
        ({"resourceTemplates": [{"uriTemplate": "a:{b}"}, 5]}, "2 resource templates: a:{b}, ?"),
        ({"content": [{"type": "text", "text": "one\n two"}]}, "one two"),
        (
            {
                "content": [
                    {"type": "image", "mimeType": "image/png"},
                    {"type": "text", "text": "x"},
                ]
            },
            "[image image/png] · x",
        ),
        ({"content": [], "structuredContent": {"a": 1}}, '{"a":1}'),
        ({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}, "user: hi"),
        ({"contents": [{"uri": "a:b", "mimeType": "image/png"}]}, "[image/png a:b]"),
        (
            {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "2"}},
            "2025-11-25 s 2",
        ),
        ({"supportedVersions": ["2026-07-28"]}, '["2026-07-28"]'),
        (
            {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}},
            "input required: roots/list",
        ),
        ({"resultType": "complete", "_meta": {}}, "{}"),
        ({"content": 5}, "5"),
        ({"messages": 5}, "5"),
        ({"contents": 5}, "5"),
        ({"inputRequests": [1]}, "[1]"),
        (5, "5"),
    ],
)
def test_results_say_what_came_of_it(result: Any, said: str) -> None:
    assert summary({"jsonrpc": "2.0", "id": 1, "result": result}) == said


def test_an_error_says_its_code_and_why() -> None:
    error = {"code": -32602, "message": "Invalid params"}
    assert summary({"jsonrpc": "2.0", "id": 1, "error": error}) == "-32602 Invalid params"
    assert summary({"jsonrpc": "2.0", "id": 1, "error": "x"}) == '"x"'


def test_what_is_no_message_is_shown_as_it_is() -> None:
    assert summary([[1]][0][0]) == "1"


def test_what_is_long_is_cut() -> None:
    said = summary({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"text": "x" * 1000}]}})
    assert said == "x" * (MAX_CHARACTERS - 1) + "…"
