from typing import Any

import pytest

from wigwag.testing.contract_changes import Change, compare

SCHEMA: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer", "description": "How many."}},
    "required": [],
}


def contract(**members: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "server": "s",
        "capabilities": {"tools": {"listChanged": True}},
        "tools": {"add": {"inputSchema": SCHEMA, "outputSchema": SCHEMA, "description": "Adds."}},
        "prompts": {"plan": {"arguments": {"day": {"required": True}, "hour": {}}}},
        "resources": {"a://b": {"name": "b", "mimeType": "text/plain"}},
        "resourceTemplates": {"a://{x}": {"name": "x"}},
    }
    return {**plain, **members}


def tool(**members: Any) -> dict[str, Any]:
    return {"add": {**contract()["tools"]["add"], **members}}


def schema(**members: Any) -> dict[str, Any]:
    return {**SCHEMA, **members}


CALLER = "who calls the tool `add`"
READER = "who reads the resource `a://b`"
USER = "who uses the prompt `plan`"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"tools": {}}, (CALLER, "it is gone")),
        ({"tools": {"added": tool()["add"]}}, (CALLER, "it is gone (is it `added` now?)")),
        (
            {"tools": tool(inputSchema=schema(required=["n"]))},
            (CALLER, "argument `n` is required now"),
        ),
        ({"tools": tool(outputSchema=schema(properties={}))}, (CALLER, "result `n` is gone")),
        ({"prompts": {}}, (USER, "it is gone")),
        (
            {"prompts": {"plan": {"arguments": {"day": {"required": True}}}}},
            (USER, "argument `hour` is gone"),
        ),
        (
            {"prompts": {"plan": {"arguments": {"day": {}, "hour": {"required": True}}}}},
            (USER, "argument `hour` is required now"),
        ),
        (
            {"prompts": {"plan": {"arguments": {"day": {}, "hour": {}, "x": {"required": True}}}}},
            (USER, "argument `x` is required now"),
        ),
        ({"resources": {}}, (READER, "it is gone")),
        (
            {"resources": {"a://b": {"name": "c", "mimeType": "text/plain"}}},
            (READER, 'its name is "c" now (it was "b")'),
        ),
        (
            {"resources": {"a://b": {"name": "b"}}},
            (READER, 'its type is not told now (it was "text/plain")'),
        ),
        ({"resourceTemplates": {}}, ("who reads by the template `a://{x}`", "it is gone")),
        ({"capabilities": {}}, ("whoever connects", "the capability `tools` is gone")),
        (
            {"capabilities": {"tools": {}}},
            ("whoever connects", "the capability `tools.listChanged` is gone"),
        ),
    ],
)
def test_what_somebody_relies_on_is_missed(
    members: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert compare(contract(), contract(**members)).breaks == [Change(*expected)]


def test_a_result_that_has_no_structure_any_more_is_missed() -> None:
    new = tool()
    del new["add"]["outputSchema"]
    changes = compare(contract(), contract(tools=new))
    assert changes.breaks == [Change(CALLER, "it has no structured result any more")]
    assert changes.others == []


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"tools": {**tool(), "sub": {"inputSchema": SCHEMA}}},
            ("the tool `sub`", "is new"),
        ),
        (
            {"tools": tool(description="Sums.")},
            (CALLER, 'description is "Sums." (it was "Adds.")'),
        ),
        (
            {"tools": tool(inputSchema=schema(properties={**SCHEMA["properties"], "m": {}}))},
            (CALLER, "inputSchema.properties.m is new: {}"),
        ),
        (
            {"prompts": {"plan": {"arguments": {"day": {}, "hour": {}}}}},
            (USER, "arguments.day.required is gone (it was true)"),
        ),
        ({"server": "t"}, ("the server", 'server is "t" (it was "s")')),
    ],
)
def test_what_harms_nobody_is_told_all_the_same(
    members: dict[str, Any], expected: tuple[str, str]
) -> None:
    changes = compare(contract(), contract(**members))
    assert changes.breaks == []
    assert changes.others == [Change(*expected)]


def test_order_says_nothing() -> None:
    def listed(order: int) -> dict[str, Any]:
        names = ["a", "b", "c"][::order]
        members: dict[str, Any] = {name: {"enum": names} for name in names}
        return contract(
            tools={name: {"inputSchema": schema(properties=members, required=names)}
                   for name in names}
        )  # fmt: skip

    assert not compare(listed(1), listed(-1))


def test_what_breaks_is_not_told_twice() -> None:
    new = schema(properties={"n": {"type": "string", "description": "Which."}})
    changes = compare(contract(), contract(tools=tool(inputSchema=new)))
    assert changes.breaks == [Change(CALLER, "argument `n` does not take integer any more")]
    assert changes.others == []
