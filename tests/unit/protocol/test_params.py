import contextlib
import json
from typing import Any

import pytest
from msgspec import UNSET, Raw

from tests.pair import modern_meta
from tests.unit.protocol.nesting import depths, nested
from wigwag.jsonrpc.codes import INVALID_PARAMS, PARSE_ERROR
from wigwag.protocol.params import ParamsRefused, decode_params, is_modern, read_broken_meta
from wigwag.schema import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    METHODS,
    PROTOCOL_VERSION_KEY,
    CallToolRequestParams,
    CreateMessageRequestParams,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    PaginatedRequestParams,
    RequestMetaObject,
    RequestParams,
    UnknownContent,
)


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def refusal(method: str, params: Raw) -> ParamsRefused:
    with pytest.raises(ParamsRefused) as caught:
        decode_params(method, params)
    return caught.value


# --- decoding


def test_params_are_read_as_the_type_of_the_table() -> None:
    assert isinstance(decode_params("tools/list", raw({"cursor": "x"})), PaginatedRequestParams)
    call = decode_params("tools/call", raw({"name": "a", "arguments": {"b": 1}}))
    assert isinstance(call, CallToolRequestParams)
    assert isinstance(call.arguments, Raw)
    assert json.loads(bytes(call.arguments)) == {"b": 1}


def test_absent_params_are_an_empty_object() -> None:
    assert decode_params("tools/list", UNSET) == PaginatedRequestParams()
    assert decode_params("ping", UNSET) == RequestParams()
    with pytest.raises(ParamsRefused, match="name"):
        decode_params("tools/call", UNSET)


@pytest.mark.parametrize("method", [*METHODS, "no/such", ""])
def test_every_method_has_params_with_a_meta_to_look_at(method: str) -> None:
    needed: dict[str, Any] = {
        "name": "a",
        "uri": "a:1",
        "level": "info",
        "taskId": "1",
        "cursor": "c",
    }
    needed |= {"progressToken": 1, "progress": 1, "data": 1, "messages": [], "maxTokens": 1}
    needed |= {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "a", "value": ""}}
    needed |= {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    needed |= {"protocolVersion": "x", "capabilities": {}, "notifications": {}}
    needed |= {"clientInfo": {"name": "c", "version": "1"}, "elicitationId": "1"}
    needed |= {"status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": 1}
    params = decode_params(method, raw({"_meta": {}, **needed}))
    assert params.meta is not UNSET


def test_of_a_method_that_nobody_knows_the_meta_is_read() -> None:
    params = decode_params("no/such", raw({"_meta": modern_meta(), "more": [1]}))
    assert params.meta.protocol_version == "2026-07-28"
    assert decode_params("no/such", UNSET).meta is UNSET


def test_a_form_and_a_page_are_told_apart() -> None:
    form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    assert isinstance(decode_params("elicitation/create", raw(form)), ElicitRequestFormParams)
    page = {"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "1"}
    assert isinstance(decode_params("elicitation/create", raw(page)), ElicitRequestURLParams)


def test_a_block_of_a_type_that_nobody_knows_is_no_reason_to_refuse() -> None:
    message = {"role": "user", "content": {"type": "hologram", "beams": 3}}
    params = decode_params(
        "sampling/createMessage", raw({"messages": [message], "maxTokens": 10, "zzz": 1})
    )
    assert isinstance(params, CreateMessageRequestParams)
    assert isinstance(params.messages[0].content, UnknownContent)


def test_members_that_nobody_knows_are_ignored_at_every_level() -> None:
    meta = modern_meta(zzz=1, capabilities={"zzz": {}, "roots": {"zzz": 1, "listChanged": True}})
    params = decode_params("tools/call", raw({"name": "a", "zzz": {}, "_meta": meta}))
    assert params.meta.client_capabilities.roots.list_changed is True


# --- refusing


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("tools/call", {}, "missing `name` (at `params`)"),
        ("tools/call", {"name": 1}, "expected `str`, got `int` (at `params.name`)"),
        ("tools/call", [1], "expected `object`, got `array` (at `params`)"),
        ("tools/call", None, "expected `object`, got `null` (at `params`)"),
        ("tools/list", {"cursor": 1}, "expected `str`, got `int` (at `params.cursor`)"),
        ("ping", "x", "expected `object`, got `str` (at `params`)"),
        ("no/such", 1, "expected `object`, got `int` (at `params`)"),
        (
            "completion/complete",
            {"ref": {"type": "ref/tool"}, "argument": {"name": "a", "value": ""}},
            "invalid value 'ref/tool' (at `params.ref.type`)",
        ),
        (
            "ping",
            {"_meta": {"progressToken": 1.5}},
            "expected `int | str`, got `float` (at `params._meta.progressToken`)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(method: str, params: Any, reason: str) -> None:
    error = refusal(method, raw(params))
    assert error.code == INVALID_PARAMS
    assert error.reason == f"Invalid params: {reason}"


@pytest.mark.parametrize(
    "params",
    [
        b'{"name":"\xff"}',
        b'{"name":"\\ud800"}',
        b'{"name":"\xed\xa0\x80"}',
        b'{"\xff":1,"name":"a',
        b"{",
    ],
)
def test_params_that_are_no_json_are_a_parse_error(params: bytes) -> None:
    assert refusal("tools/call", Raw(params)).code == PARSE_ERROR


@pytest.mark.parametrize("number", [b"1" * 5000, b"1e400", b"-1e400"])
def test_a_number_that_no_number_can_hold_is_refused_and_no_crash(number: bytes) -> None:
    params = Raw(b'{"progressToken":1,"progress":%b}' % number)
    assert refusal("notifications/progress", params).code in (INVALID_PARAMS, PARSE_ERROR)


@pytest.mark.parametrize("method", ["ping", "tools/call", "sampling/createMessage", "no/such"])
def test_nesting_of_any_depth_is_read_or_refused(method: str) -> None:
    for depth in depths():
        deep = nested(depth)
        for text in (
            b'{"_meta":%b}' % deep,
            b'{"zzz":%b}' % deep,
            b'{"messages":[{"role":"user","content":{"type":"x","x":%b}}],"maxTokens":1}' % deep,
            b'{"name":"a","arguments":%b,"cursor":1}' % deep,
            b'{"name":1,"_meta":{"x":%b,"progressToken":1.5}}' % deep,
        ):
            with contextlib.suppress(ParamsRefused):
                decode_params(method, Raw(text))
            read_broken_meta(Raw(text))


def test_names_that_a_peer_makes_up_do_not_fill_the_memory() -> None:
    from wigwag.protocol import params  # noqa: PLC0415 - its private table is looked at

    for number in range(50):
        decode_params(f"made/up{number}", UNSET)
    assert set(params._decoders) <= set(METHODS)


# --- the era


@pytest.mark.parametrize("key", [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY])
def test_any_of_the_three_keys_makes_a_request_modern(key: str) -> None:
    value = modern_meta()[key]
    meta = decode_params("ping", raw({"_meta": {key: value}})).meta
    assert is_modern(meta)


@pytest.mark.parametrize(
    "meta", [{}, {"progressToken": 1}, {LOG_LEVEL_KEY: "info"}, {"example.com/x": 1}]
)
def test_other_keys_do_not_make_a_request_modern(meta: Any) -> None:
    assert not is_modern(decode_params("ping", raw({"_meta": meta})).meta)


def test_without_meta_a_request_is_not_modern() -> None:
    assert not is_modern(UNSET)
    assert not is_modern(RequestMetaObject())


# --- what is left of a broken `_meta`


@pytest.mark.parametrize(
    "broken",
    [
        {PROTOCOL_VERSION_KEY: 7},
        {CLIENT_CAPABILITIES_KEY: []},
        {CLIENT_INFO_KEY: "me"},
        {PROTOCOL_VERSION_KEY: None},
    ],
)
def test_a_key_of_the_wrong_type_is_as_good_as_absent_and_the_others_are_read(broken: Any) -> None:
    meta = read_broken_meta(raw({"_meta": modern_meta() | broken}))
    assert meta is not UNSET
    assert is_modern(meta)
    wrong = [
        key
        for key, value in (
            (PROTOCOL_VERSION_KEY, meta.protocol_version),
            (CLIENT_CAPABILITIES_KEY, meta.client_capabilities),
            (CLIENT_INFO_KEY, meta.client_info),
        )
        if value is UNSET
    ]
    assert wrong == list(broken)


@pytest.mark.parametrize("key", [PROTOCOL_VERSION_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY])
def test_a_modern_key_of_the_wrong_type_alone_makes_a_request_modern(key: str) -> None:
    meta = read_broken_meta(raw({"_meta": {key: 7, "progressToken": 1}}))
    assert meta is not UNSET
    assert is_modern(meta)
    assert meta.protocol_version is UNSET
    assert meta.client_capabilities is UNSET


@pytest.mark.parametrize("params", [[], 1, None, {}, {"_meta": 1}, {"_meta": None}])
def test_params_without_a_meta_object_have_none(params: Any) -> None:
    assert read_broken_meta(raw(params)) is UNSET


def test_params_that_cannot_be_read_at_all_have_no_meta() -> None:
    assert read_broken_meta(Raw(b'{"_meta":')) is UNSET
    assert read_broken_meta(Raw(b"[" * 100_000)) is UNSET
    assert read_broken_meta(UNSET) is UNSET


def test_a_broken_meta_of_the_legacy_era_is_not_modern() -> None:
    assert not is_modern(read_broken_meta(raw({"_meta": {"progressToken": {}}})))
