"""All that is known of a tool or a prompt, for a person."""

import pytest

from wigwag.cli.tool_details import print_prompt, print_tool
from wigwag.schema import Prompt, PromptArgument, Tool, ToolAnnotations, ToolExecution

ROUTE = Tool(
    name="route",
    title="Find a way",
    description="Find a way.\n\nIt may be long.\x1b[2J",
    input_schema={
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "Where to.", "minLength": 2},
            "by": {"enum": ["foot", "bike"], "default": "foot"},
            "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "x": True,
        },
        "required": ["to"],
        "$defs": {"Stop": {"type": "object"}},
    },
    output_schema={"type": "object", "properties": {"km": {"type": "number"}}},
    annotations=ToolAnnotations(
        read_only_hint=True, destructive_hint=True, idempotent_hint=True, open_world_hint=True
    ),
    execution=ToolExecution(task_support="optional"),
)


def test_a_tool_is_told_with_what_it_takes_and_returns(capsys: pytest.CaptureFixture[str]) -> None:
    print_tool(ROUTE)
    assert capsys.readouterr().out == (
        "route  Find a way\n"
        "\n"
        "  Find a way.\n"
        "\n"
        "  It may be long.\\x1b[2J\n"
        "\n"
        "Arguments\n"
        "  to     string          (at least 2 characters) Where to.\n"
        "  by     foot | bike     (foot unless given)\n"
        "  stops  list of object  (may be left out)\n"
        "  limit  integer         (may be left out)\n"
        "  x      anything\n"
        "Returns object: km\n"
        "It says of itself: it only reads, what it changes may be lost, twice is the same as once, "
        "it reaches beyond the server, it may run as a task (optional)\n"
    )


def test_a_prompt_is_told_with_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        PromptArgument(name="who", description="Whom.", required=True),
        PromptArgument(name="tone", description="How."),
    ]
    print_prompt(Prompt(name="greet", arguments=arguments))
    assert capsys.readouterr().out == (
        "greet\n\nArguments\n  who     Whom.\n  tone    (may be left out) How.\n"
    )


def test_what_takes_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_tool(Tool(name="now", input_schema={"type": "object"}))
    assert capsys.readouterr().out == "now\n\nIt takes no arguments\n"


def test_a_schema_that_refers_to_itself_or_makes_no_sense_is_told_as_far_as_it_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tree = {"type": "array", "items": {"$ref": "#/properties/tree"}}
    schema = {"type": "object", "properties": {"tree": tree}, "required": True}
    print_tool(Tool(name="plant", input_schema=schema))
    told = capsys.readouterr().out
    assert "  tree  list of list of list of list of …  (may be left out)\n" in told
