from typing import Any

import pytest
from msgspec import UNSET, Raw, ValidationError

from wigwag.schema import (
    METHODS,
    AudioContent,
    CallToolResult,
    CancelledNotificationParams,
    CreateMessageResult,
    CreateTaskResult,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    EmbeddedResource,
    InputRequiredResult,
    NotificationParams,
    RequestParams,
    Result,
    TextContent,
    ToolUseContent,
    UnknownContent,
    decode,
    decode_content,
    decode_params,
    decode_result,
)

HOLOGRAM = b'{"type":"hologram", "depth":1.50}'


def text(block: Any) -> str:
    assert isinstance(block, TextContent)
    return block.text


def test_camel_case_on_the_wire_is_snake_case_here() -> None:
    params = decode_params("notifications/cancelled", b'{"requestId": 7, "reason": "late"}')
    assert params == CancelledNotificationParams(request_id=7, reason="late")


def test_members_that_nobody_knows_are_ignored() -> None:
    params = decode_params("ping", b'{"colour": "red", "_meta": {"com.example/x": null}}')
    assert isinstance(params, RequestParams)


def test_absent_params_are_an_empty_object() -> None:
    assert decode_params("notifications/initialized", UNSET) == NotificationParams()
    with pytest.raises(ValidationError, match="name"):
        decode_params("tools/call", UNSET)


def test_the_meta_of_a_request_is_read() -> None:
    data = b"""{"_meta": {
        "progressToken": "t",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": true}, "x": 1},
        "io.modelcontextprotocol/logLevel": "error"
    }}"""
    meta = decode_params("server/discover", data).meta
    assert meta.progress_token == "t"
    assert meta.protocol_version == "2026-07-28"
    assert meta.client_capabilities.roots.list_changed is True
    assert meta.client_info is UNSET
    assert meta.log_level == "error"


def test_arguments_stay_undecoded() -> None:
    params = decode_params("tools/call", b'{"name": "add", "arguments": {"a":1.50}}')
    assert bytes(params.arguments) == b'{"a":1.50}'


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("tools/call", b'{"name": 1}'),
        ("tools/call", b'{"name": "add", "inputResponses": null}'),
        ("logging/setLevel", b'{"level": "loud"}'),
        ("prompts/get", b'{"name": "a", "arguments": {"a": 1}}'),
        ("notifications/progress", b'{"progressToken": true, "progress": 1}'),
        ("completion/complete", b'{"ref": {"type": "ref/x"}, "argument": {"name":"","value":""}}'),
        ("sampling/createMessage", b'{"messages": [{"role": "user"}], "maxTokens": 1}'),
        ("tools/list", b"[]"),
        ("tools/list", b"null"),
    ],
)
def test_params_are_read_strictly(method: str, data: bytes) -> None:
    with pytest.raises(ValidationError):
        decode_params(method, data)


def test_the_reason_names_the_place() -> None:
    with pytest.raises(ValidationError, match=r"Expected `str`, got `int` - at `\$\.name`"):
        decode_params("tools/call", b'{"name": 1}')


@pytest.mark.parametrize("mode", [b"", b'"mode": "form",'])
def test_an_elicitation_is_by_form_unless_it_says_otherwise(mode: bytes) -> None:
    data = b"{" + mode + b'"message": "m", "requestedSchema": {"type": "object"}}'
    assert isinstance(decode_params("elicitation/create", data), ElicitRequestFormParams)


def test_an_elicitation_by_url_needs_a_url() -> None:
    data = b'{"mode": "url", "message": "m", "url": "https://x", "elicitationId": "1"}'
    params = decode_params("elicitation/create", data)
    assert params == ElicitRequestURLParams(
        mode="url", message="m", url="https://x", elicitation_id="1"
    )
    with pytest.raises(ValidationError, match="url"):
        decode_params("elicitation/create", b'{"mode": "url", "message": "m"}')
    with pytest.raises(ValidationError, match="mode"):
        decode_params("elicitation/create", b'{"mode": "telepathy", "message": "m"}')


def test_a_sampling_message_may_be_one_block_or_a_list() -> None:
    data = b"""{"maxTokens": 1, "messages": [
        {"role": "user", "content": {"type": "text", "text": "a"}},
        {"role": "user", "content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]}
    ]}"""
    one, several = decode_params("sampling/createMessage", data).messages
    assert text(one.content) == "a"
    assert several.content == [ToolUseContent(id="1", name="n", input={})]


def test_unknown_blocks_in_a_sampling_request_do_not_spoil_it() -> None:
    data = b'{"maxTokens": 1, "messages": [{"role": "user", "content": [%s]}]}' % HOLOGRAM
    (message,) = decode_params("sampling/createMessage", data).messages
    assert [type(block) for block in message.content] == [UnknownContent]


@pytest.mark.parametrize("result_type", [b"", b'"resultType": "complete",'])
def test_a_result_is_complete_unless_it_says_otherwise(result_type: bytes) -> None:
    result = decode_result("tools/call", b"{" + result_type + b'"content": []}')
    assert isinstance(result, CallToolResult)


def test_structured_content_may_be_null_or_absent() -> None:
    with_null = decode_result("tools/call", b'{"content": [], "structuredContent": null}')
    assert with_null.structured_content is None
    assert decode_result("tools/call", b'{"content": []}').structured_content is UNSET


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_result_that_asks_for_input_is_told_from_a_complete_one(method: str) -> None:
    data = b"""{"resultType": "input_required", "requestState": "s", "inputRequests": {
        "who": {"method": "elicitation/create", "params": {"message":"m"}},
        "where": {"method": "roots/list"}
    }}"""
    result = decode_result(method, data)
    assert isinstance(result, InputRequiredResult)
    assert result.request_state == "s"
    assert not isinstance(result.input_requests, type(UNSET))
    assert list(result.input_requests) == ["who", "where"]
    params = result.input_requests["who"].params
    assert isinstance(params, Raw)
    assert bytes(params) == b'{"message":"m"}'
    assert result.input_requests["where"].params is UNSET


def test_a_result_that_asks_for_input_may_look_complete_besides() -> None:
    data = b'{"resultType": "input_required", "requestState": "s", "content": []}'
    assert isinstance(decode_result("tools/call", data), InputRequiredResult)


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("tools/call", b'{"resultType": "task", "taskId": "1"}'),
        ("tools/call", b'{"resultType": "zzz", "content": []}'),
        ("tools/list", b'{"resultType": "input_required", "requestState": "s"}'),
    ],
)
def test_a_result_of_another_type_is_not_guessed_at(method: str, data: bytes) -> None:
    result = decode_result(method, data)
    assert type(result) is Result
    assert result.result_type not in (UNSET, "complete")


def test_a_result_may_be_a_task() -> None:
    data = b"""{"task": {"taskId": "1", "status": "working", "createdAt": "2025-11-25T00:00:00Z",
        "lastUpdatedAt": "2025-11-25T00:00:00Z", "ttl": null}}"""
    result = decode_result("tools/call", data)
    assert isinstance(result, CreateTaskResult)
    assert result.task.ttl is None
    with pytest.raises(ValidationError):
        decode_result("tools/list", data)


def test_an_unknown_block_does_not_spoil_a_result() -> None:
    data = b'{"content": [{"type": "text", "text": "a"}, %s], "isError": true}' % HOLOGRAM
    result = decode_result("tools/call", data)
    known, unknown = result.content
    assert text(known) == "a"
    assert isinstance(unknown, UnknownContent)
    assert unknown.type == "hologram"
    assert bytes(unknown.raw) == HOLOGRAM
    assert result.is_error is True


def test_a_block_that_belongs_elsewhere_counts_as_unknown() -> None:
    data = b'{"content": [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]}'
    (block,) = decode_result("tools/call", data).content
    assert isinstance(block, UnknownContent)


def test_an_unknown_block_does_not_spoil_a_prompt_or_an_answer_of_the_model() -> None:
    prompt = decode_result(
        "prompts/get", b'{"messages": [{"role": "user", "content": %s}]}' % HOLOGRAM
    )
    assert isinstance(prompt.messages[0].content, UnknownContent)
    data = b'{"role": "assistant", "model": "m", "content": %s}'
    answer = decode_result("sampling/createMessage", data % HOLOGRAM)
    assert isinstance(answer, CreateMessageResult)
    assert isinstance(answer.content, UnknownContent)
    answer = decode_result("sampling/createMessage", data % (b"[%s]" % HOLOGRAM))
    assert [type(block) for block in answer.content] == [UnknownContent]


def test_null_where_a_member_should_be_left_out_does_not_spoil_a_result() -> None:
    data = b"""{"nextCursor": null, "_meta": null, "resultType": null, "tools": [
        {"name": "a", "title": null, "inputSchema": {"x": null}, "annotations": {"title": null}}
    ]}"""
    result = decode_result("tools/list", data)
    (tool,) = result.tools
    assert result.next_cursor is UNSET
    assert result.result_type is UNSET
    assert tool.title is UNSET
    assert tool.annotations.title is UNSET
    assert tool.input_schema == {"x": None}


def test_null_that_means_something_is_kept_beside_one_that_does_not() -> None:
    data = b'{"content": [], "isError": null, "structuredContent": null}'
    result = decode_result("tools/call", data)
    assert result.is_error is False
    assert result.structured_content is None
    data = b"""{"taskId": "1", "status": "working", "statusMessage": null, "ttl": null,
        "createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}"""
    task = decode_result("tasks/get", data)
    assert task.status_message is UNSET
    assert task.ttl is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"tools": null}',
        b'{"tools": [{"name": null, "inputSchema": {}}]}',
        b'{"tools": [{"name": "a"}], "nextCursor": null}',
        b'{"tools": {}}',
        b"{}",
        b"[]",
        b"null",
    ],
)
def test_a_result_without_what_it_needs_is_refused(data: bytes) -> None:
    with pytest.raises(ValidationError):
        decode_result("tools/list", data)


def test_the_reason_for_refusing_a_result_names_the_place() -> None:
    with pytest.raises(ValidationError, match=r"`text` - at `\$\.content\[0\]`"):
        decode_result("tools/call", b'{"content": [{"type": "text"}]}')


def test_contents_are_told_by_what_they_hold() -> None:
    data = b'{"contents": [{"uri": "a:1", "text": ""}, {"uri": "a:2", "blob": "AA=="}]}'
    first, second = decode_result("resources/read", data).contents
    assert (first.text, first.blob) == ("", UNSET)
    assert (second.text, second.blob) == (UNSET, "AA==")


def test_a_time_to_live_may_have_a_fraction() -> None:
    result = decode_result("tools/list", b'{"tools": [], "ttlMs": 1.5, "cacheScope": "private"}')
    assert result.ttl_ms == 1.5


def test_a_block_of_any_type_is_read() -> None:
    audio = b'{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}'
    assert decode_content(audio) == AudioContent(data="AA==", mime_type="audio/wav")
    resource = b'{"type": "resource", "resource": {"uri": "a:1", "text": "x"}}'
    block = decode_content(resource)
    assert isinstance(block, EmbeddedResource)
    assert block.resource.text == "x"
    unknown = decode_content(HOLOGRAM)
    assert isinstance(unknown, UnknownContent)
    assert bytes(unknown.raw) == HOLOGRAM


@pytest.mark.parametrize("data", [b'{"type": "text"}', b'{"text": "a"}', b'{"type": 1}', b"1"])
def test_a_block_without_what_it_needs_is_refused(data: bytes) -> None:
    with pytest.raises(ValidationError):
        decode_content(data)


def test_undecoded_json_is_read_as_well_as_bytes() -> None:
    assert decode(Raw(b'{"type": "text", "text": "a"}'), TextContent) == TextContent(text="a")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_read(name: str) -> None:
    with pytest.raises(ValidationError):
        decode_params(name, b"1")
    if METHODS[name].kind == "request":
        with pytest.raises(ValidationError):
            decode_result(name, b"1")


def test_an_unknown_method_is_an_error() -> None:
    with pytest.raises(KeyError):
        decode_params("tools/paint", b"{}")
    with pytest.raises(KeyError):
        decode_result("tools/paint", b"{}")
