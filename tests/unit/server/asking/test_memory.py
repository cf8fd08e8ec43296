from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from wigwag.errors import RequestFailed
from wigwag.protocol.events import RequestReceived
from wigwag.schema import (
    LATEST_MODERN,
    CallToolRequestParams,
    ClientCapabilities,
    GetPromptRequestParams,
    ReadResourceRequestParams,
)
from wigwag.server.asking.memory import Keeper, Memory, _purpose, inputs_of
from wigwag.server.asking.questions import Answer
from wigwag.server.asking.sealing import Seal
from wigwag.server.principal import Principal

KEY = b"k" * 32


def keeper(server: str = "quiz", *, lifetime: float = 60.0, limit: int = 10_000) -> Keeper:
    return Keeper(Seal([KEY]), server, lifetime, limit)


def request(method: str, params: Any) -> RequestReceived:
    return RequestReceived(
        id=7,
        method=method,
        params=params,
        source=b"{}",
        revision=LATEST_MODERN,
        is_modern=True,
        meta=UNSET,
        client_capabilities=ClientCapabilities(),
        client_info=UNSET,
    )


def call(name: str, arguments: bytes | None = None) -> RequestReceived:
    given = UNSET if arguments is None else Raw(arguments)
    return request("tools/call", CallToolRequestParams(name=name, arguments=given))


def test_what_is_remembered_comes_back() -> None:
    memory = Memory(
        answers={"a": Answer("d1", Raw(b'{"x":1}'))},
        asked={"b": "d2"},
        once={"n": Raw(b"3")},
        given=Raw(b'["s"]'),
    )
    state = keeper().seal(memory, call("t"), now=1000.0)
    found = keeper().open(state, call("t"), now=1001.0)
    assert found == memory
    assert bytes(found.answers["a"].value) == b'{"x":1}'


def test_it_is_forgotten_when_its_time_is_over() -> None:
    state = keeper().seal(Memory(), call("t"), now=1000.0)
    keeper().open(state, call("t"), now=1060.0)
    with pytest.raises(RequestFailed, match="has expired") as expired:
        keeper().open(state, call("t"), now=1061.0)
    assert expired.value.code == -32602


SAME = [
    (call("t"), call("t", b"{}")),
    (call("t"), call("t", b"null")),
    (call("t", b'{"a":1,"b":"\\u00e9"}'), call("t", '{ "b": "é", "a": 1 }'.encode())),
]
OTHER = [
    call("u", b'{"a":1}'),
    call("t", b'{"a":2}'),
    call("t"),
    call("t", b'{"a":"1"}'),
    request("prompts/get", GetPromptRequestParams(name="t", arguments={"a": "1"})),
    request("resources/read", ReadResourceRequestParams(uri="t")),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_arguments_are_compared_by_what_they_mean(
    one: RequestReceived, other: RequestReceived
) -> None:
    keeper().open(keeper().seal(Memory(), one, now=0.0), other, now=0.0)


@pytest.mark.parametrize("other", OTHER)
def test_it_is_of_no_use_for_another_request(other: RequestReceived) -> None:
    state = keeper().seal(Memory(), call("t", b'{"a":1}'), now=0.0)
    with pytest.raises(RequestFailed, match="is not one for this request") as refused:
        keeper().open(state, other, now=0.0)
    assert refused.value.code == -32602


def test_nor_for_another_server() -> None:
    state = keeper().seal(Memory(), call("t"), now=0.0)
    with pytest.raises(RequestFailed, match="is not one for this request"):
        keeper("other").open(state, call("t"), now=0.0)


def test_what_was_sealed_but_is_no_memory_is_refused() -> None:
    purpose = _purpose("quiz", call("t"), None)
    for content in (b"", b"[]", b'{"expires":"x"}'):
        with pytest.raises(RequestFailed, match="is not one for this request"):
            keeper().open(Seal([KEY]).seal(content, purpose), call("t"), now=0.0)


ANN, BOB = Principal("ann", "https://a.example"), Principal("bob", "https://a.example")
OTHER_ANN = Principal("ann", "https://b.example")


@pytest.mark.parametrize("owner", [None, ANN, BOB, OTHER_ANN], ids=str)
def test_nor_for_another_principal(owner: Principal | None) -> None:
    state = keeper().seal(Memory(), call("t"), now=0.0, principal=owner)
    for other in (None, ANN, BOB, OTHER_ANN, Principal("ann"), Principal("", "ann")):
        if other == owner:
            keeper().open(state, call("t"), now=0.0, principal=other)
        else:
            with pytest.raises(RequestFailed, match="is not one for this request"):
                keeper().open(state, call("t"), now=0.0, principal=other)
    if owner is not None:  # what they may do, and what else is known of them, may change meanwhile
        same = Principal(owner.subject, owner.issuer, frozenset({"x"}), {"exp": 1})
        keeper().open(state, call("t"), now=0.0, principal=same)


def test_an_empty_address_is_one() -> None:
    empty = request("resources/read", ReadResourceRequestParams(uri=""))
    keeper().open(keeper().seal(Memory(), empty, now=0.0), empty, now=0.0)


def own(params: bytes) -> RequestReceived:
    received = request("com.example/ask", None)
    source = b'{"jsonrpc":"2.0","id":1,"method":"com.example/ask","params":%b}' % params
    return msgspec.structs.replace(received, source=source)


def test_methods_of_the_servers_own_are_told_apart_by_their_params() -> None:
    state = keeper().seal(Memory(), own(b'{"a":1,"_meta":{"x":1}}'), now=0.0)
    retry = b'{"_meta":{"y":2},"inputResponses":{"k":{"action":"cancel"}},"requestState":"s","a":1}'
    keeper().open(state, own(retry), now=0.0)
    inputs = inputs_of(own(retry))
    assert (inputs.request_state, list(inputs.input_responses)) == ("s", ["k"])
    with pytest.raises(RequestFailed, match="is not one for this request"):
        keeper().open(state, own(b'{"a":2}'), now=0.0)
    inputs = inputs_of(own(b"{}"))
    assert (inputs.request_state, inputs.input_responses) == (UNSET, UNSET)
    with pytest.raises(RequestFailed, match="Invalid params") as refused:
        inputs_of(own(b'{"requestState":3}'))
    assert refused.value.code == -32602


def test_there_is_a_limit_to_it() -> None:
    memory = Memory(once={"n": Raw(b'"' + b"x" * 1000 + b'"')})
    with pytest.raises(RequestFailed, match="the server's limit is 1000") as refused:
        keeper(limit=1000).seal(memory, call("t"), now=0.0)
    assert refused.value.code == -32603
    keeper(limit=2000).seal(memory, call("t"), now=0.0)
