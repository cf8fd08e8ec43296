"""Holds `project` to the facts: whatever is projected is a message of its revision."""

import types
import typing
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Raw, Struct, UnsetType
from msgspec.structs import fields

from tests.facts.table import REVISIONS
from tests.wire import Side, WireValidator
from wigwag.schema import (
    METHODS,
    SERVER_INFO_KEY,
    SUBSCRIPTION_ID_KEY,
    V2026_07_28,
    InputRequiredResult,
    ListToolsResult,
    Method,
    has_type,
    project,
)

# What the types leave open and the schemas do not.
MEMBERS: dict[str, Any] = {
    "experimental": {"com.example/x": {}},
    "extensions": {"com.example/x": {}},
    "input_responses": {"who": {"action": "decline"}},
    "input_schema": {"type": "object"},
    "method": "roots/list",
    "output_schema": {"type": "object"},
    "requested_schema": {"type": "object", "properties": {}},
    "result_type": "complete",
}
META = {
    SERVER_INFO_KEY: {"name": "s", "version": "1"},
    SUBSCRIPTION_ID_KEY: 1,
    "com.example/x": None,
}
SAMPLES: dict[Any, Any] = {str: "x", int: 1, float: 0.5, bool: True, Any: {}, Raw: Raw(b"{}")}

SIDES: tuple[Side, Side] = ("client", "server")


def sent(*kinds: str) -> list[Any]:
    return [
        pytest.param(revision, method, side, id=f"{revision} {side} {method.name}")
        for revision in REVISIONS
        for method in METHODS.values()
        for side in SIDES
        if method.kind in kinds and method.may_be_sent_by(side, revision)
    ]


def full(type_: Any) -> Any:
    """Return a value with every member there is, and in each list one item of every kind."""
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin is Literal:
        return arguments[0]
    if origin is list:
        return [full(kind) for kind in alternatives(arguments[0])]
    if origin is dict:
        kinds = alternatives(arguments[1])
        return {} if Any in kinds else {f"x{n}": full(kind) for n, kind in enumerate(kinds)}
    if isinstance(type_, type) and issubclass(type_, Struct):
        return type_(**{field.name: member(field.name, field.type) for field in fields(type_)})
    return SAMPLES[type_]


def member(name: str, type_: Any) -> Any:
    kind = alternatives(type_)[0]
    if name == "meta" and typing.get_origin(kind) is dict:
        return META
    return MEMBERS[name] if name in MEMBERS else full(kind)


def alternatives(type_: Any) -> list[Any]:
    if typing.get_origin(type_) in (types.UnionType, typing.Union):
        return [part for part in typing.get_args(type_) if part not in (UnsetType, type(None))]
    return [type_]


def problems(message: Any, revision: str, sender: Side, answers: str | None = None) -> list[str]:
    data = msgspec.json.encode({"jsonrpc": "2.0"} | message)
    return WireValidator().validate_message(data, revision=revision, sender=sender, answers=answers)


@pytest.mark.parametrize(("revision", "method", "side"), sent("request", "notification"))
def test_all_params_fit_once_they_are_projected(revision: str, method: Method, side: Side) -> None:
    for type_ in alternatives(method.params):
        if has_type(type_, revision):
            message = {"method": method.name, "params": project(full(type_), revision)}
            message |= {"id": 1} if method.kind == "request" else {}
            assert problems(message, revision, side) == []


@pytest.mark.parametrize(("revision", "method", "side"), sent("request"))
def test_all_results_fit_once_they_are_projected(revision: str, method: Method, side: Side) -> None:
    message = {"id": 1, "result": project(full(method.result), revision)}
    receiver: Side = "server" if side == "client" else "client"
    assert problems(message, revision, receiver, method.name) == []


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if row.input_required])
def test_questions_fit(method: str) -> None:
    asked = msgspec.structs.replace(full(InputRequiredResult), result_type="input_required")
    message = {"id": 1, "result": project(asked, V2026_07_28)}
    assert problems(message, V2026_07_28, "server", method) == []


def test_what_is_not_projected_does_not_fit() -> None:
    for revision in REVISIONS:
        message = {"id": 1, "result": full(ListToolsResult)}
        assert problems(message, revision, "server", "tools/list") != []
