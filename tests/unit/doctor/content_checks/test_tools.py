from typing import Any

from wigwag.doctor.content_checks.tools import check_tools

TOOL: dict[str, Any] = {
    "name": "find_books",
    "description": "Find books.",
    "inputSchema": {"type": "object"},
}


def codes_of(*tools: dict[str, Any], is_modern: bool = True) -> list[str]:
    return [finding.code for finding in check_tools(list(tools), is_modern=is_modern)]


def test_nothing_is_wrong_with_a_sound_tool_or_with_none() -> None:
    assert codes_of(TOOL) == []
    assert codes_of() == []


def test_a_description_of_spaces_is_none() -> None:
    assert codes_of({**TOOL, "description": " \n"}) == ["tool-without-description"]


def test_output_is_an_object_in_legacy_revisions_alone() -> None:
    tool = {**TOOL, "outputSchema": {"type": "array", "items": {}}}
    assert codes_of(tool) == []
    assert codes_of(tool, is_modern=False) == ["schema-root-not-object"]


def test_that_a_tool_which_only_reads_is_said_to_destroy_is_no_fault_as_it_means_nothing() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": True}
    [finding] = check_tools([{**TOOL, "annotations": hints}], is_modern=True)
    assert (finding.code, finding.severity) == ("hints-contradict", "note")


def test_hints_that_agree_are_taken() -> None:
    hints = {"readOnlyHint": True, "destructiveHint": False}
    assert codes_of({**TOOL, "annotations": hints}) == []


def test_the_largest_tool_is_named_where_all_take_too_much() -> None:
    large = {**TOOL, "name": "large", "description": "word " * 40_000}
    findings = list(check_tools([TOOL, large], is_modern=True))
    [finding] = [each for each in findings if each.code == "tools-too-large"]
    assert "'large'" in finding.evidence
