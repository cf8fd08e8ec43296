import pytest

from wigwag.schema import (
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    MODERN_REVISIONS,
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_11_25,
    V2026_07_28,
    CallToolResult,
    Resource,
    ServerCapabilities,
    Tool,
    ToolExecution,
    has_member,
    has_type,
)


def test_the_revisions_are_in_the_order_of_their_dates() -> None:
    assert list(REVISIONS) == sorted(REVISIONS)
    assert REVISIONS == LEGACY_REVISIONS + MODERN_REVISIONS
    assert LEGACY_REVISIONS[-1] == LATEST_LEGACY == V2025_11_25
    assert MODERN_REVISIONS[-1] == LATEST_MODERN == V2026_07_28


def test_a_member_has_a_first_and_a_last_revision() -> None:
    assert [r for r in REVISIONS if has_member(Tool, "execution", r)] == [V2025_11_25]
    assert [r for r in REVISIONS if has_member(Tool, "name", r)] == list(REVISIONS)
    assert not has_member(ServerCapabilities, "completions", V2024_11_05)
    assert has_member(ServerCapabilities, "completions", V2025_03_26)


def test_a_type_has_the_members_of_its_base() -> None:
    assert not has_member(CallToolResult, "result_type", V2025_11_25)
    assert has_member(CallToolResult, "result_type", V2026_07_28)


def test_a_type_has_a_first_and_a_last_revision() -> None:
    assert [r for r in REVISIONS if has_type(ToolExecution, r)] == [V2025_11_25]
    assert all(has_type(Resource, revision) for revision in REVISIONS)


def test_an_unknown_revision_is_an_error() -> None:
    with pytest.raises(KeyError, match="2023"):
        has_type(Tool, "2023-01-01")
