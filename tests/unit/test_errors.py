import inspect
import pickle
import re

import pytest

from wigwag import errors
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationRefused,
    AuthorizationUnavailable,
    ConnectionClosed,
    HttpStatusError,
    InsufficientScope,
    InvalidResult,
    InvalidToken,
    LocalProtocolError,
    McpError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
    ResourceNotFound,
    ServerStartFailed,
    ToolFailed,
    TransportError,
    VerifierUnavailable,
)

CLASSES = [getattr(errors, name) for name in errors.__all__]
LOCAL = [LocalProtocolError, RequestTimedOut, TransportError, ConnectionClosed, ServerStartFailed]


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    parents: dict[str, str] = {}
    ancestors: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"    ((?:│   |    |├── |└── )*)(\w+)(?: {2,}|$)", line)
        if drawn is None:
            continue
        depth, name = len(drawn[1]) // 4, drawn[2]
        ancestors[depth:] = [name]
        parents[name] = ancestors[depth - 1] if depth else "Exception"
    assert parents == {cls.__name__: cls.__base__.__name__ for cls in CLASSES}


@pytest.mark.parametrize("cls", CLASSES)
def test_whoever_catches_the_base_catches_everything(cls: type[Exception]) -> None:
    assert issubclass(cls, McpError)


def test_only_a_failed_request_carries_a_code_of_the_wire() -> None:
    arguments = {cls: inspect.signature(cls.__init__).parameters for cls in CLASSES}
    assert [cls for cls in CLASSES if "code" in arguments[cls]] == [RequestFailed]


def test_a_timeout_is_not_an_error_of_the_peer() -> None:
    for cls in LOCAL:
        assert not issubclass(cls, RequestFailed | RemoteProtocolError)


def test_a_result_that_is_none_is_the_peers_fault() -> None:
    assert issubclass(InvalidResult, RemoteProtocolError)


def test_a_failed_request_says_what_the_peer_said_and_the_code() -> None:
    error = RequestFailed(-32602, "Unknown tool", {"name": "x"})
    assert str(error) == "Unknown tool (error -32602)"
    assert (error.code, error.message, error.data) == (-32602, "Unknown tool", {"name": "x"})


def test_a_timeout_names_the_method_the_time_and_the_limit() -> None:
    text = str(RequestTimedOut("tools/call", 12.34, "10 s without a sign of life"))
    assert text == "no answer to tools/call after 12.3 s (10 s without a sign of life)"


def test_a_tool_that_failed_says_what_it_said() -> None:
    error = ToolFailed("no soup", 7)
    assert (str(error), error.text, error.result) == ("no soup", "no soup", 7)


@pytest.mark.parametrize("cls", [ConnectionClosed, ServerStartFailed])
def test_the_end_of_a_server_comes_with_its_last_words(
    cls: type[ConnectionClosed | ServerStartFailed],
) -> None:
    error = cls("the server exited with code 3", exit_code=3, stderr="one\ntwo\n")
    assert str(error) == (
        "the server exited with code 3; the last lines of its standard error:\n    one\n    two"
    )
    assert (error.reason, error.exit_code) == ("the server exited with code 3", 3)
    assert str(cls("gone")) == "gone"


@pytest.mark.parametrize(
    "error",
    [
        RequestFailed(-1, "no", [1]),
        RequestTimedOut("ping", 1.0, "limit"),
        LocalProtocolError("no"),
        ToolFailed("no soup", {"a": 1}),
        AuthorizationUnavailable("no answer", "https://as.example", "try again later"),
        AuthorizationRefused("no", "https://as.example", "log in again", "access_denied"),
        InsufficientScope("no", "https://mcp.example", "", ("write",)),
        InvalidToken("of another issuer", "the token is unknown"),
        VerifierUnavailable("no answer", 7.5),
    ],
)
def test_exceptions_survive_a_trip_between_processes(error: McpError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.args == error.args


def test_a_failed_authorization_says_what_where_and_what_to_do() -> None:
    error = AuthorizationFailed("no token", "https://as.example", "log in again")
    assert str(error) == "no token (https://as.example); log in again"
    assert (error.reason, error.where, error.advice) == error.args
    assert str(AuthorizationFailed("no token")) == "no token"
    assert AuthorizationRefused("no", error="access_denied").error == "access_denied"
    assert InsufficientScope("no", scopes=("write",)).scopes == ("write",)


def test_a_token_that_is_refused_tells_the_client_less_than_the_log() -> None:
    error = InvalidToken("the issuer is another one")
    assert (str(error), error.description) == (
        "the issuer is another one",
        "the token is not valid here",
    )
    assert VerifierUnavailable("no keys").retry_after == 5.0


def test_what_is_not_found_is_the_uri_that_is_read_unless_another_one_is_named() -> None:
    bare = ResourceNotFound()
    assert (bare.code, bare.message, bare.data) == (-32002, "Resource not found", None)
    found = bare.at("a://b")
    assert (found.message, found.data) == ("Resource not found: a://b", {"uri": "a://b"})
    assert ResourceNotFound("no 7").at("a://b").message == "no 7"
    named = ResourceNotFound("no 7", uri="a://c")
    assert named.at("a://b") is named
    assert named.data == {"uri": "a://c"}
    again = pickle.loads(pickle.dumps(named))
    assert (str(again), again.uri, again.data) == (str(named), "a://c", {"uri": "a://c"})


def test_a_server_that_names_where_tokens_come_from_is_told_with_what_gets_one() -> None:
    where = {"www-authenticate": 'Bearer resource_metadata="https://a.example/x"'}
    refused = HttpStatusError("https://a.example/mcp", 401, "Unauthorized", "who?", where)
    assert str(refused) == (
        "https://a.example/mcp answered 401 Unauthorized "
        '(it wants a token: `auth="oauth"` gets one): who?'
    )
    other = HttpStatusError("https://a.example/mcp", 401, "Unauthorized", "who?", {})
    assert str(other) == "https://a.example/mcp answered 401 Unauthorized: who?"
