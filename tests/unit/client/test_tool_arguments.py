"""Arguments that people type."""

import base64
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from wigwag.client.tool_arguments import (
    argument_schemas,
    find_named,
    prompt_arguments,
    read_source,
    tool_arguments,
)
from wigwag.schema import Prompt, PromptArgument, Tool

PLAN = Tool(
    name="plan",
    input_schema={
        "type": "object",
        "properties": {
            "day": {"type": "integer", "minimum": 1},
            "title": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "array", "items": {"type": "number"}},
            "picture": {"type": "string", "contentEncoding": "base64"},
        },
        "required": ["day"],
    },
)
FILES = {
    "notes.txt": b"one\ntwo\n",
    "all.json": b'\xef\xbb\xbf{"day": 3, "title": "x"}',
    "list.json": b"[1]",
    "logo.png": b"\x89PNG",
    "-": b'{"day": 4}',
}


def read(name: str) -> bytes:
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", name)
    return FILES[name]


def arguments_of(*words: str, check: bool = True) -> dict[str, Any]:
    return tool_arguments(words, PLAN, read=read, check=check)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["day=1"], {"day": 1}),
        (["day=1", "title=a=b"], {"day": 1, "title": "a=b"}),
        (["day=1", "title=x:=y"], {"day": 1, "title": "x:=y"}),
        (["day=1", "title=-"], {"day": 1, "title": "-"}),
        (["day=1", "title=@@ada"], {"day": 1, "title": "@ada"}),
        (["day=1", "tags=a", "tags=b,c"], {"day": 1, "tags": ["a", "b,c"]}),
        (["day=1", "where=52.5,13.4"], {"day": 1, "where": [52.5, 13.4]}),
        (["day:=1", 'title:="5"'], {"day": 1, "title": "5"}),
        (["day=1", "title=@notes.txt"], {"day": 1, "title": "one\ntwo\n"}),
        (["day=1", "where:=@list.json"], {"day": 1, "where": [1]}),
        (["day=1", "picture=@logo.png"], {"day": 1, "picture": "iVBORw=="}),
        (['{"day": 2}', "title=x"], {"day": 2, "title": "x"}),
        (["@all.json"], {"day": 3, "title": "x"}),
        (["-"], {"day": 4}),
        (["day=1", "title=@-"], {"day": 1, "title": '{"day": 4}'}),
    ],
)
def test_words_become_arguments(words: list[str], arguments: dict[str, Any]) -> None:
    assert arguments_of(*words) == arguments


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the tool 'plan' needs day=…"),
        (["dya=1"], "the tool 'plan' has no argument 'dya'; did you mean 'day'?"),
        (["day=1", "xyz=1"], "has no argument 'xyz'; it takes day, title, tags, where, picture"),
        (["day=soon"], "day is a whole number; not 'soon'"),
        (["day=0"], "the tool 'plan' does not take this: `day`: 0 is less than the minimum of 1"),
        (["day=1", "day=2"], "day is there twice, and is no list"),
        (["1"], "'1' is no argument: write name=value, for example day=1"),
        (["day=1", "title=@gone"], "title: cannot read the file 'gone': No such file or directory; "
         "the text itself is title=@@gone"),
        (["day=1", "title=@logo.png"], "title: logo.png holds no text in UTF-8"),
        (["day:=x"], "day: it is not JSON"),
        (["day:=x"], "text is written day=…"),
        (["@list.json"], "the arguments are a JSON object"),
        (["@gone"], "the arguments: cannot read the file 'gone'"),
        (["{day: 1}"], "the arguments: it is not JSON"),
        (["=1"], "'=1' is no argument"),
        ([f"day={'x' * 90}"], "not '" + "x" * 40 + "…'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told(words: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        arguments_of(*words)


def test_unchecked_arguments_may_be_unknown_or_missing_or_wrong() -> None:
    assert arguments_of("dya=1", "title:=5", check=False) == {"dya": "1", "title": 5}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"properties": {"a": {}}, "additionalProperties": True},
        {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
        {"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]},
    ],
)
def test_a_tool_that_takes_more_than_it_names_gets_more(schema: dict[str, Any]) -> None:
    assert tool_arguments(["b=1"], Tool(name="open", input_schema=schema)) == {"b": "1"}


def test_a_tool_without_arguments_says_so() -> None:
    none = Tool(name="now", input_schema={"type": "object", "properties": {}})
    with pytest.raises(ValueError, match=r"has no argument 'a'; it takes none"):
        tool_arguments(["a=1"], none)
    with pytest.raises(ValueError, match=r"'a' is no argument: the tool 'now' takes none"):
        tool_arguments(["a"], none)


def test_a_schema_that_is_none_is_for_the_server_to_complain_about() -> None:
    broken = Tool(name="b", input_schema={"properties": {"a": {}}, "minProperties": "x"})
    assert tool_arguments(["a=1"], broken) == {"a": "1"}


def test_files_are_read_as_bytes_and_a_dash_is_the_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"\x00\xff")
    assert read_source(str(file)) == b"\x00\xff"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"typed")))
    assert read_source("-") == b"typed"
    picture = tool_arguments([f"picture=@{file}", "day=1"], PLAN)["picture"]
    assert base64.b64decode(picture) == b"\x00\xff"


TRIAGE = Prompt(
    name="triage",
    arguments=[PromptArgument(name="ticket", required=True), PromptArgument(name="tone")],
)


def test_the_arguments_of_prompts_are_text() -> None:
    assert prompt_arguments(["ticket=5"], TRIAGE) == {"ticket": "5"}
    with pytest.raises(ValueError, match="ticket: the arguments of prompts are text"):
        prompt_arguments(["ticket:=5"], TRIAGE)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["tone=kind"], "the prompt 'triage' needs ticket=…"),
        (["tickt=5"], "the prompt 'triage' has no argument 'tickt'; did you mean 'ticket'?"),
    ],
)
def test_a_prompt_gets_what_it_takes(words: list[str], reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        prompt_arguments(words, TRIAGE)
    assert prompt_arguments(words, TRIAGE, check=False)


def test_a_name_finds_its_feature_or_is_told_the_nearest() -> None:
    assert find_named("plan", [PLAN]) is PLAN
    with pytest.raises(ValueError, match=r"there is no tool 'paln'; did you mean 'plan'\?"):
        find_named("paln", [PLAN])
    with pytest.raises(ValueError, match=r"there is no prompt 'x'; there are triage"):
        find_named("x", [TRIAGE])
    no_tools: list[Tool] = []
    with pytest.raises(ValueError, match=r"there is no tool 'x'; there are none"):
        find_named("x", no_tools)
    many = [Tool(name=f"{n}{n}", input_schema={}) for n in range(20)]
    with pytest.raises(ValueError, match=r"there are 00, 11, .*, 1111, …$"):
        find_named("q", many)


def test_a_schema_without_properties_has_no_arguments() -> None:
    assert argument_schemas({"type": "object"}) == {}
    assert argument_schemas({"properties": [1]}) == {}
