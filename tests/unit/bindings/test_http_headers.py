from collections.abc import Mapping
from typing import Any

import pytest

from wigwag.bindings.http_headers import (
    LAST_EVENT_ID,
    MCP_SESSION_ID,
    NAME_MEMBERS,
    HeaderFault,
    RequestHeaders,
    accepts,
    is_json,
    parameter_headers,
    request_headers,
)
from wigwag.bindings.mirrored_parameters import MirroredParameter, mirrored_parameters
from wigwag.errors import LocalProtocolError
from wigwag.schema import METHODS

MODERN = "2026-07-28"

MIRRORED = mirrored_parameters(
    {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
            "a": {"properties": {"b": {"type": "integer", "x-mcp-header": "B"}}},
            "pi": {"type": "number"},
        },
    }
)


def headers(*lines: tuple[str, str | bytes]) -> RequestHeaders:
    """Return what an ASGI server makes of header lines."""
    return RequestHeaders(
        [
            (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for name, value in lines
        ]
    )


def faulty(fault: HeaderFault | None) -> str | None:
    """Return the header that is at fault; its name must be in the sentence."""
    if fault is None:
        return None
    assert fault.reason.startswith(f"Header mismatch: {fault.header} ")
    assert fault.reason.isprintable()
    return fault.header


# --- the headers of a client


def test_a_request_says_its_revision_and_its_method() -> None:
    assert request_headers("tools/list", None, MODERN) == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/list",
    }


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("tools/call", "t", "t"),
        ("tools/call", "ünï", "=?base64?w7xuw68=?="),
        ("prompts/get", "", ""),
        ("resources/read", "file:///a%20b.txt", "file:///a%20b.txt"),
    ],
)
def test_a_request_says_what_it_names(method: str, name: str, value: str) -> None:
    assert request_headers(method, name, MODERN) == {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        "Mcp-Name": value,
    }


@pytest.mark.parametrize(
    ("method", "version", "header"),
    [
        ("tools/list\r\nEvil: 1", MODERN, "Mcp-Method"),
        ("tools/list ", MODERN, "Mcp-Method"),
        ("méthode", MODERN, "Mcp-Method"),
        ("tools/list", "2026\n", "MCP-Protocol-Version"),
    ],
)
def test_what_would_break_a_header_is_not_sent(method: str, version: str, header: str) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{header} cannot carry '"):
        request_headers(method, None, version)


def test_the_methods_that_name_something_are_methods_and_have_that_member() -> None:
    core = {method for method in NAME_MEMBERS if not method.startswith("tasks/")}
    assert core == {"tools/call", "prompts/get", "resources/read"}
    for method in core:
        assert NAME_MEMBERS[method] in METHODS[method].params.__struct_fields__
    assert {NAME_MEMBERS[method] for method in NAME_MEMBERS.keys() - core} == {"taskId"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"region": " a"}, {"Mcp-Param-Region": "=?base64?IGE=?="}),
        ({"region": None}, {}),
        ({}, {}),
        ({"n": 0, "flag": False}, {"Mcp-Param-N": "0", "Mcp-Param-Flag": "false"}),
        ({"a": {"b": 3}}, {"Mcp-Param-B": "3"}),
        ({"a": 5}, {}),
        ({"b": 5}, {}),
        ({"pi": 3.14, "other": "x"}, {}),
        # what the schema does not allow is for the server to judge
        ({"n": "42", "region": 42}, {"Mcp-Param-N": "42", "Mcp-Param-Region": "42"}),
        ({"n": 2.5}, {"Mcp-Param-N": "2.5"}),
        ({"region": ["a"], "n": {"x": 1}}, {}),
        ({"n": float("nan"), "region": float("inf")}, {}),  # JSON says null for them
    ],
)
def test_arguments_are_repeated(arguments: dict[str, Any], expected: Mapping[str, str]) -> None:
    assert parameter_headers(MIRRORED, arguments) == expected


@pytest.mark.parametrize("arguments", [{"a": {"b": 2**53}}, {"a": {"b": "\udc00"}}])
def test_an_argument_that_no_header_can_carry_is_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError, match=r"^Mcp-Param-B cannot carry 'a\.b': "):
        parameter_headers(MIRRORED, arguments)


# --- plain access


def test_a_value_comes_without_the_blanks_around_it() -> None:
    seen = headers(("Host", "  example.com\t"), ("Empty", ""))
    assert seen.get(b"host") == b"example.com"
    assert seen.get(b"empty") == b""
    assert seen.get(b"absent") is None


def test_lines_with_one_name_are_joined() -> None:
    seen = headers(("Accept", "application/json"), ("X", "1"), ("Accept", "text/event-stream"))
    assert seen.get(b"accept") == b"application/json, text/event-stream"
    assert seen.get(b"x") == b"1"


def test_what_sessions_and_streams_need_is_there_as_text() -> None:
    seen = headers(
        ("MCP-Protocol-Version", " 2025-11-25 "), ("Mcp-Session-Id", "abc"), ("Last-Event-ID", "7 ")
    )
    assert (seen.protocol_version, seen.session_id, seen.last_event_id) == (
        "2025-11-25",
        "abc",
        "7",
    )
    none = headers()
    assert (none.protocol_version, none.session_id, none.last_event_id) == (None, None, None)


def test_two_sessions_in_one_request_are_none_of_both() -> None:
    seen = RequestHeaders(
        [(MCP_SESSION_ID, b"a"), (MCP_SESSION_ID, b"b"), (LAST_EVENT_ID, b"\xe9")]
    )
    assert seen.session_id == "a, b"
    assert seen.last_event_id == "é"


# --- revision, method and name against the body


@pytest.mark.parametrize("value", [MODERN, f" {MODERN}", f"{MODERN}\t "])
def test_the_revision_must_be_that_of_the_body(value: str) -> None:
    assert headers(("MCP-Protocol-Version", value)).check_version(MODERN) is None


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [("MCP-Protocol-Version", "2025-11-25")],
        [("MCP-Protocol-Version", "")],
        [("MCP-Protocol-Version", b"\xff")],
        [("MCP-Protocol-Version", "=?base64?MjAyNi0wNy0yOA==?=")],
        [("MCP-Protocol-Version", MODERN), ("MCP-Protocol-Version", MODERN)],
    ],
)
def test_another_revision_than_in_the_body_is_a_fault(lines: list[tuple[str, str | bytes]]) -> None:
    assert faulty(headers(*lines).check_version(MODERN)) == "MCP-Protocol-Version"


def test_an_unknown_revision_is_no_fault_when_the_body_has_it_too() -> None:
    assert headers(("MCP-Protocol-Version", "v999.0.0")).check_version("v999.0.0") is None


@pytest.mark.parametrize(
    ("method", "name", "lines"),
    [
        ("tools/list", None, [("mcp-method", "tools/list")]),
        ("tools/list", None, [("MCP-METHOD", " tools/list ")]),
        ("tools/list", None, [("Mcp-Method", "tools/list"), ("Mcp-Name", "unneeded")]),
        ("tools/list", None, [("X", "1"), ("X", "2"), ("Mcp-Method", "tools/list")]),
        ("tools/call", "t", [("Mcp-Method", "tools/call"), ("Mcp-Name", "t")]),
        ("tools/call", "t", [("Mcp-Method", "tools/call"), ("Mcp-Name", "  t\t ")]),
        ("tools/call", "t", [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?dA==?=")]),
        (
            "tools/call",
            "t",
            [("X", "1"), ("X", "1"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "t")],
        ),
        ("tools/call", "", [("Mcp-Method", "tools/call"), ("Mcp-Name", "")]),
        ("tools/call", "é", [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?w6k=?=")]),
        (
            "tools/call",
            "=?base64?dA==?=",
            [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?PT9iYXNlNjQ/ZEE9PT89?=")],
        ),
        ("tools/call", "=?base64?a", [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?a")]),
        ("tasks/get", "tid", [("Mcp-Method", "tasks/get"), ("Mcp-Name", "tid")]),
    ],
)
def test_headers_that_tell_what_the_body_tells_are_accepted(
    method: str, name: str | None, lines: list[tuple[str, str]]
) -> None:
    assert headers(*lines).check_method(method, name) is None


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [("Mcp-Method", "prompts/list")],
        [("Mcp-Method", "TOOLS/LIST")],
        [("Mcp-Method", "")],
        [("Mcp-Method", "=?base64?dG9vbHMvbGlzdA==?=")],
        [("Mcp-Method", b"tools/list\xe9")],
        [("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/list")],
        [("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/call")],
        [("Mcp-Method", "tools/call"), ("X", "1"), ("Mcp-Method", "tools/list")],
    ],
)
def test_another_method_than_in_the_body_is_a_fault(lines: list[tuple[str, str | bytes]]) -> None:
    assert faulty(headers(*lines).check_method("tools/list", None)) == "Mcp-Method"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("t", []),
        ("t", [("Mcp-Name", "wrong")]),
        ("t", [("Mcp-Name", "T")]),
        ("t", [("Mcp-Name", "")]),
        ("", []),
        ("t", [("Mcp-Name", "t"), ("Mcp-Name", "t")]),
        ("t", [("Mcp-Name", "t"), ("Mcp-Name", "x")]),
        ("t", [("Mcp-Name", "x"), ("Mcp-Name", "t")]),
        ("a, b", [("Mcp-Name", "a"), ("Mcp-Name", "b")]),
        ("t", [("Mcp-Name", "=?base64?dA?=")]),
        ("é", [("Mcp-Name", b"\xe9")]),
        ("é", [("Mcp-Name", "é".encode())]),
        ("a\tb", [("Mcp-Name", "a\tb")]),
        ("\x7f", [("Mcp-Name", "\x7f")]),
        ("=?base64?dA==?=", [("Mcp-Name", "=?base64?dA==?=")]),
    ],
)
def test_another_name_than_in_the_body_is_a_fault(
    name: str, lines: list[tuple[str, str | bytes]]
) -> None:
    seen = headers(("Mcp-Method", "tools/call"), *lines)
    assert faulty(seen.check_method("tools/call", name)) == "Mcp-Name"


# --- arguments against the body


@pytest.mark.parametrize(
    ("lines", "arguments"),
    [
        ([("Mcp-Param-Region", "=?base64?SGVsbG8=?=")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "Hello")], {"region": "Hello"}),
        ([("mcp-param-region", " Hello\t")], {"region": "Hello"}),
        ([("MCP-PARAM-REGION", "Hello")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "SGVsbG8=")], {"region": "SGVsbG8="}),
        ([("Mcp-Param-Region", "=?base64?SGVsbG8=")], {"region": "=?base64?SGVsbG8="}),
        ([("Mcp-Param-Region", "=?BASE64?SGVsbG8=?=")], {"region": "=?BASE64?SGVsbG8=?="}),
        ([("Mcp-Param-Region", "=?base64?w6k=?=")], {"region": "é"}),
        ([("Mcp-Param-Region", "")], {"region": ""}),
        ([], {"region": None}),
        ([], {}),
        ([("Mcp-Param-Unknown", "x"), ("Mcp-Param-Unknown", "y")], {}),
        ([("X", "1"), ("X", "2"), ("Mcp-Param-Region", "Hello")], {"region": "Hello"}),
        ([("Mcp-Param-N", "42")], {"n": 42}),
        ([("Mcp-Param-N", "42")], {"n": 42.0}),
        ([("Mcp-Param-N", "42.0")], {"n": 42}),
        ([("Mcp-Param-N", "4.2e1")], {"n": 42}),
        ([("Mcp-Param-N", "420E-1")], {"n": 42}),
        ([("Mcp-Param-N", "043")], {"n": 43}),
        ([("Mcp-Param-N", " 42")], {"n": 42}),
        ([("Mcp-Param-N", "-7")], {"n": -7}),
        ([("Mcp-Param-N", "-0")], {"n": 0}),
        ([("Mcp-Param-N", "=?base64?NDI=?=")], {"n": 42}),
        ([("Mcp-Param-N", "9007199254740993")], {"n": 9007199254740993}),
        ([("Mcp-Param-N", "2.50")], {"n": 2.5}),
        ([("Mcp-Param-N", "3.14")], {"n": 3.14}),
        ([("Mcp-Param-Flag", "true")], {"flag": True}),
        ([("Mcp-Param-Flag", "false")], {"flag": False}),
        ([("Mcp-Param-B", "3")], {"a": {"b": 3}}),
        ([], {"a": 3}),
        # values of another type than the schema says, which is another refusal's business
        ([("Mcp-Param-Region", "42")], {"region": 42}),
        ([("Mcp-Param-N", "x")], {"n": "x"}),
        ([], {"region": ["x"], "n": {}}),
    ],
)
def test_headers_that_repeat_the_arguments_are_accepted(
    lines: list[tuple[str, str]], arguments: dict[str, Any]
) -> None:
    assert headers(*lines).check_parameters(MIRRORED, arguments) is None


@pytest.mark.parametrize(
    ("lines", "arguments"),
    [
        ([("Mcp-Param-Region", "=?base64?SGVsbG8?=")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "=?base64?SGVs!!!bG8=?=")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "=?BASE64?SGVsbG8=?=")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "hello")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "=?base64?/w==?=")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "=?base64?/w==?=")], {}),
        ([("Mcp-Param-Region", b"\xe9")], {"region": "é"}),
        ([("Mcp-Param-Region", "é".encode())], {"region": "é"}),
        ([("Mcp-Param-Region", "Hello"), ("Mcp-Param-Region", "Hello")], {"region": "Hello"}),
        ([("Mcp-Param-Region", "a"), ("Mcp-Param-Region", "b")], {"region": "a, b"}),
        ([("Mcp-Param-Region", "a"), ("Mcp-Param-Region", "a")], {}),
        ([], {"region": "test-value"}),
        ([], {"region": ""}),
        ([], {"region": 0}),
        ([], {"region": False}),
        ([("Mcp-Param-Region", "x")], {}),
        ([("Mcp-Param-Region", "")], {}),
        ([("Mcp-Param-Region", "null")], {"region": None}),
        ([("Mcp-Param-Region", "x")], {"region": ["x"]}),
        ([("Mcp-Param-Region", " Hello")], {"region": " Hello"}),
    ],
)
def test_headers_that_tell_something_else_than_the_arguments_are_a_fault(
    lines: list[tuple[str, str | bytes]], arguments: dict[str, Any]
) -> None:
    assert faulty(headers(*lines).check_parameters(MIRRORED, arguments)) == "Mcp-Param-Region"


@pytest.mark.parametrize(
    "text",
    [
        "abc", "NaN", "0x2A", "4_2", "+42", "42.", "4 2", "", "43", "-42", "42.5", "4.2e2", "٤٢",
        "42.00000000000000000000001", "1e9999999999", "Infinity", "true", "42e", "42\x00",
        "9" * 5000, "0" * 500 + "42", "1e999", "42." + "0" * 5000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", [42, 42.0])
def test_a_header_that_is_another_number_is_a_fault(text: str, number: float) -> None:
    seen = headers(("Mcp-Param-N", text))
    assert faulty(seen.check_parameters(MIRRORED, {"n": number})) == "Mcp-Param-N"


def test_large_numbers_are_compared_exactly() -> None:
    seen = headers(("Mcp-Param-N", "9007199254740992.0"))
    assert faulty(seen.check_parameters(MIRRORED, {"n": 9007199254740993})) == "Mcp-Param-N"
    assert seen.check_parameters(MIRRORED, {"n": 9007199254740992}) is None


@pytest.mark.parametrize(
    ("text", "flag"), [("True", True), ("1", True), ("false", True), ("true", False), ("0", False)]
)
def test_a_header_that_is_another_truth_value_is_a_fault(text: str, flag: bool) -> None:  # noqa: FBT001
    seen = headers(("Mcp-Param-Flag", text))
    assert faulty(seen.check_parameters(MIRRORED, {"flag": flag})) == "Mcp-Param-Flag"


def test_each_parameter_is_checked() -> None:
    seen = headers(("Mcp-Param-Region", "Hello"), ("Mcp-Param-N", "1"))
    assert faulty(seen.check_parameters(MIRRORED, {"region": "Hello", "n": 2})) == "Mcp-Param-N"
    assert faulty(seen.check_parameters(MIRRORED, {"region": "x", "n": 1})) == "Mcp-Param-Region"
    one = MirroredParameter("Mcp-Param-B", b"mcp-param-b", ("a", "b"), "integer")
    assert faulty(seen.check_parameters([one], {"a": {"b": 1}})) == "Mcp-Param-B"
    assert seen.check_parameters([], {"region": "x"}) is None


# --- what is said


def reason(fault: HeaderFault | None) -> str:
    assert fault is not None
    return fault.reason


def test_a_fault_says_what_the_header_is_and_what_it_must_be() -> None:
    seen = headers(("Mcp-Method", "tools/call"), ("Mcp-Name", "foo"), ("X", "1"), ("X", "2"))
    assert reason(seen.check_method("tools/call", "bar")) == (
        "Header mismatch: Mcp-Name is 'foo', but the body has 'bar'"
    )
    assert reason(seen.check_version(MODERN)) == (
        "Header mismatch: MCP-Protocol-Version is missing; it must repeat '2026-07-28'"
    )
    twice = headers(("Mcp-Method", "a"), ("Mcp-Method", "a"))
    assert reason(twice.check_method("a", None)) == (
        "Header mismatch: Mcp-Method came more than once; it must repeat 'a'"
    )
    bad = headers(("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?dA?="))
    assert reason(bad.check_method("tools/call", "t")) == (
        "Header mismatch: Mcp-Name cannot be read: what it marks as Base64 is none"
    )


def test_a_fault_of_an_argument_does_not_tell_its_value() -> None:
    seen = headers(("Mcp-Param-B", "123"))
    assert reason(seen.check_parameters(MIRRORED, {"a": {"b": 456}})) == (
        "Header mismatch: Mcp-Param-B must repeat the argument 'a.b', which is another value"
    )
    assert reason(seen.check_parameters(MIRRORED, {})) == (
        "Header mismatch: Mcp-Param-B must repeat the argument 'a.b', which is absent or null"
    )
    assert reason(headers().check_parameters(MIRRORED, {"region": "secret"})) == (
        "Header mismatch: Mcp-Param-Region is missing; it must repeat the argument 'region'"
    )


def test_a_fault_is_short_however_long_the_values_are() -> None:
    seen = headers(("Mcp-Method", "m"), ("Mcp-Name", "\x1b" * 9000))
    assert len(reason(seen.check_method("m" * 9000, None))) < 1000
    seen = headers(("Mcp-Method", "m"), ("Mcp-Name", "n" * 9000))
    assert len(reason(seen.check_method("m", "\x1b" * 9000))) < 2000


# --- what the bodies are


@pytest.mark.parametrize(
    ("value", "json", "stream"),
    [
        (None, True, True),
        (b"", True, True),
        (b" , ", True, True),
        (b"*/*", True, True),
        (b"*", True, True),
        (b"application/json, text/event-stream", True, True),
        (b"text/event-stream,application/json", True, True),
        (b"Application/JSON ,  Text/Event-Stream", True, True),
        (b"application/json", True, False),
        (b"application/json; charset=utf-8", True, False),
        (b"text/event-stream", False, True),
        (b"text/event-stream;q=0.9", False, True),
        (b"application/*", True, False),
        (b"text/*", False, True),
        (b"text/html, */*;q=0.1", True, True),
        (b"text/html", False, False),
        (b"application/jsonp, text/event-streams", False, False),
        (b"application/json;q=0, */*", False, True),
        (b"application/json;q=0.000, text/event-stream", False, True),
        (b"*/*, text/*; Q=0", True, False),
        (b"text/event-stream; q = 0.0, application/json; q=1", True, False),
        (b"application/json;q=0.001", True, False),
        (b"application/json;q=", True, False),
        (b"application/json;q=high;level=0", True, False),
    ],
)
def test_what_a_client_takes_is_judged_leniently(
    value: bytes | None,
    json: bool,  # noqa: FBT001
    stream: bool,  # noqa: FBT001
) -> None:
    assert accepts(value) == (json, stream)


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"application/json", b"application/json; charset=utf-8", b"APPLICATION/JSON",
        b" application/json ;charset=utf-8", b"application/vnd.api+json", b"application/json;",
    ],
)  # fmt: skip
def test_what_is_called_json_is_json(value: bytes | None) -> None:
    assert is_json(value)


@pytest.mark.parametrize(
    "value",
    [
        b"text/plain", b"text/plain;application/json", b"application/x-www-form-urlencoded",
        b"multipart/form-data", b"application/jsonp", b"text/json", b"image/svg+json", b"json",
    ],
)  # fmt: skip
def test_what_is_called_something_else_is_not_json(value: bytes) -> None:
    assert not is_json(value)


def test_a_notification_need_not_state_its_method() -> None:
    assert RequestHeaders([]).check_notification("notifications/x") is None


def test_a_method_that_a_notification_states_must_be_its_own() -> None:
    headers = RequestHeaders([(b"mcp-method", b"notifications/y")])
    fault = headers.check_notification("notifications/x")
    assert fault is not None
    assert fault.header == "Mcp-Method"
    assert headers.check_notification("notifications/y") is None
