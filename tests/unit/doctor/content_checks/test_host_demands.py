import re
from typing import Any

import pytest

from wigwag.doctor.content_checks.host_demands import check_host_demands, check_number_of_tools
from wigwag.doctor.content_checks.hosts import HOSTS
from wigwag.doctor.findings import Finding

SOUND: dict[str, Any] = {"name": "find_books", "inputSchema": {"type": "object"}}


def one_finding(**members: Any) -> Finding:
    [finding] = check_host_demands([{**SOUND, **members}])
    return finding


def hosts_in(finding: Finding) -> set[str]:
    return {host.name for host in HOSTS if host.name in finding.what}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_sound_tool_is_refused_by_nobody() -> None:
    assert list(check_host_demands([SOUND])) == []


@pytest.mark.parametrize("name", ["a.b", "with space", "a/b", "ü", "", "x" * 65])
def test_names_that_claude_refuses_are_found(name: str) -> None:
    finding = next(check_host_demands([{**SOUND, "name": name}]))
    assert (finding.code, finding.severity) == ("tool-name-refused", "error")
    assert "Claude Desktop and claude.ai" in hosts_in(finding)
    assert finding.subject == name
    assert "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'" in finding.evidence


def test_gemini_takes_a_dot_that_others_refuse() -> None:
    assert "Gemini API and Gemini CLI" not in hosts_in(one_finding(name="library.find"))


def test_a_name_that_begins_with_a_digit_is_refused_by_gemini_alone() -> None:
    assert hosts_in(one_finding(name="21st")) == {"Gemini API and Gemini CLI"}


@pytest.mark.parametrize(("length", "codes"), [(50, []), (51, ["tool-name-long"])])
def test_a_name_that_leaves_no_room_for_that_of_its_server_is_noted(
    length: int, codes: list[str]
) -> None:
    findings = list(check_host_demands([{**SOUND, "name": "x" * length}]))
    assert [finding.code for finding in findings] == codes
    assert all(finding.severity == "note" for finding in findings)


def test_the_name_of_an_argument_is_told() -> None:
    finding = one_finding(inputSchema=schema(**{"ids[]": {"type": "string"}}))
    assert finding.code == "argument-name-refused"
    assert hosts_in(finding) == {"Claude API and Claude Code"}
    assert "'ids[]' is not 1 to 64 of" in finding.evidence


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_alternatives_at_the_root_are_refused_and_below_are_not(keyword: str) -> None:
    finding = one_finding(inputSchema={"type": "object", keyword: [{"required": ["a"]}]})
    assert finding.code == "schema-root-refused"
    assert hosts_in(finding) == {
        "Claude API and Claude Code",
        "OpenAI API (ChatGPT, Codex, Copilot)",
    }
    below = schema(word={keyword: [{"type": "string"}, {"type": "null"}]})
    assert list(check_host_demands([{**SOUND, "inputSchema": below}])) == []


def test_an_enumeration_at_the_root_is_refused_by_openai_alone() -> None:
    finding = one_finding(inputSchema={"type": "object", "enum": [{}]})
    assert hosts_in(finding) == {"OpenAI API (ChatGPT, Codex, Copilot)"}


@pytest.mark.parametrize(
    ("array", "place"),
    [
        ({"type": "array"}, "properties.word"),
        ({"type": ["array", "null"]}, "properties.word"),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, "properties.word.anyOf[0]"),
        ({"type": "array", "items": {"type": "array"}}, "properties.word.items"),
    ],
)
def test_an_array_without_items_is_found_wherever_it_is(array: Any, place: str) -> None:
    finding = one_finding(inputSchema=schema(word=array))
    assert finding.code == "array-without-items"
    assert finding.evidence.startswith(f"no `items` in {place} (")
    assert "VS Code (GitHub Copilot)" in hosts_in(finding)


@pytest.mark.parametrize("items", [{"items": {}}, {"items": True}, {"prefixItems": [{}]}])
def test_an_array_that_says_what_its_items_are_is_taken(items: Any) -> None:
    sound = {**SOUND, "inputSchema": schema(word={"type": "array", **items})}
    assert list(check_host_demands([sound])) == []


def test_what_is_no_tool_is_told_elsewhere() -> None:
    assert list(check_host_demands([{}, {"name": 3}, {"name": "a", "inputSchema": None}])) == []


def test_the_number_of_tools_is_held_to_each_host() -> None:
    assert list(check_number_of_tools(80)) == []
    [finding] = check_number_of_tools(81)
    assert finding.evidence.startswith("81 tools\nCursor takes 80: ")
    [finding] = check_number_of_tools(129)
    assert re.findall(r" takes (\d+): ", finding.evidence) == ["128", "128", "80"]


def test_what_each_host_says_is_told_only_once_and_in_one_line() -> None:
    for host in HOSTS:
        says = [demand.says for demand in host.demands]
        assert len(says) == len(set(says))
        assert all(text and "\n" not in text for text in says)
