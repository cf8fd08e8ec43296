from wigwag.doctor.content_checks.shapes import check_modern_members, fault_of
from wigwag.schema import Tool

SOUND = {"name": "find", "inputSchema": {}}


def test_what_is_sound_has_no_fault_whatever_else_is_in_it() -> None:
    assert fault_of({**SOUND, "x": None}, Tool) is None


def test_what_is_null_in_place_of_absent_is_a_fault_that_is_told_with_its_place() -> None:
    assert fault_of({**SOUND, "title": None}, Tool) == "Expected `str`, got `null` - at `$.title`"


def test_only_results_that_may_be_kept_need_hints() -> None:
    [finding] = check_modern_members("tools/list", {"tools": []})
    assert finding.evidence == "no resultType, ttlMs, cacheScope"
    [finding] = check_modern_members("tools/call", {"content": [], "ttlMs": 0})
    assert finding.evidence == "no resultType"


def test_what_has_all_of_them_lacks_nothing() -> None:
    full = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    assert check_modern_members("server/discover", full) == []
    assert check_modern_members("prompts/get", {"resultType": "complete"}) == []
    assert check_modern_members("prompts/get", None) == []
