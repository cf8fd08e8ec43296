"""Where two JSON values differ."""

from typing import Any

import pytest

from wigwag.tracing.differences import IgnoredPaths, differences, fits
from wigwag.tracing.redaction import REDACTED


def paths(recorded: Any, now: Any, *ignore: str, method: str = "") -> list[str]:
    found = differences(recorded, now, ignored=IgnoredPaths(ignore), method=method)
    return [each.path for each in found]


@pytest.mark.parametrize(
    ("recorded", "now", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["a"]),
        ({"a": 1}, {"a": "1"}, ["a"]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3, 4]}}, ["a.b[1]", "a.b[2]"]),
        ({"a": None}, {}, ["a"]),
        ({}, {"x.y": 1}, ['["x.y"]']),
        ({"a": {"x[0]": 1}}, {"a": {"x[0]": 2}}, ['a["x[0]"]']),
        ([], {}, [""]),
        (1, 2, [""]),
    ],
)
def test_each_place_is_named_by_its_path(recorded: Any, now: Any, found: list[str]) -> None:
    assert paths(recorded, now) == found


def test_a_difference_tells_both_sides_and_leaves_out_what_is_not_there() -> None:
    (changed, gone) = differences({"a": 1, "b": 2}, {"a": 3})
    assert (changed.recorded, changed.now) == (1, 3)
    assert (gone.path, gone.recorded, gone.now is gone.recorded) == ("b", 2, False)


def test_things_with_names_are_compared_by_them_in_any_order() -> None:
    recorded = {"tools": [{"name": "add", "title": "A"}, {"name": "sub"}]}
    now = {"tools": [{"name": "new"}, {"name": "add", "title": "B"}]}
    assert paths(recorded, now) == ["tools[add].title", "tools[sub]", "tools[new]"]


def test_things_that_share_a_name_are_compared_by_their_places() -> None:
    assert paths([{"uri": "a", "n": 1}, {"uri": "a"}], [{"uri": "a", "n": 2}]) == ["[0].n", "[1]"]


def test_a_text_that_is_json_is_compared_as_such() -> None:
    recorded = {"text": '{"time": 1, "rows": [1, 2]}'}
    assert paths(recorded, {"text": '{"rows":[1,3],"time":1}'}) == ["text.rows[1]"]
    assert paths(recorded, {"text": "{broken"}) == ["text"]
    assert paths({"text": "[1]"}, {"text": "[1 ]"}) == []


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a", []),
        ("b", ["a.c[0].d"]),
        ("a.b", ["a.c[0].d"]),
        ("c", ["a.b"]),
        ("d", ["a.b"]),
        ("c[*].d", ["a.b"]),
        ("c[0]", ["a.b"]),
        ("c[1]", ["a.b", "a.c[0].d"]),
        ("a.**.d", ["a.b"]),
        ("a.*", []),
        ("x.b", ["a.b", "a.c[0].d"]),
    ],
)
def test_what_does_not_matter_is_named_by_the_end_of_its_path(
    pattern: str, found: list[str]
) -> None:
    recorded, now = {"a": {"b": 1, "c": [{"d": 1}]}}, {"a": {"b": 2, "c": [{"d": 2}]}}
    assert paths(recorded, now, pattern) == found


def test_it_may_matter_for_some_methods_only() -> None:
    assert paths({"a": 1}, {"a": 2}, "tools/call:a", method="tools/call") == []
    assert paths({"a": 1}, {"a": 2}, "tools/call:a", method="tools/list") == ["a"]


def test_a_name_with_a_dot_is_quoted_in_a_pattern() -> None:
    assert paths({"x": {"y.z": 1}}, {"x": {"y.z": 2}}, 'x["y.z"]') == []


def test_a_named_thing_is_named_in_a_pattern() -> None:
    tools = [{"name": "add", "title": "A"}]
    assert paths(tools, [{"name": "add", "title": "B"}], "[add].title") == []


@pytest.mark.parametrize("pattern", ["", "tools/call:", "a[", "."])
def test_a_pattern_that_makes_no_sense_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        IgnoredPaths([pattern])


def test_what_was_taken_out_is_equal_to_anything() -> None:
    assert fits({"token": REDACTED, "n": 1}, {"token": "s3cret", "n": 1})
    assert fits({"token": REDACTED}, {"token": 5})
    assert not fits({"token": REDACTED}, {})
    assert fits(f"Bearer {REDACTED}!", "Bearer x\ny!")
    assert not fits(f"Bearer {REDACTED}!", "Basic x!")


def test_the_values_of_some_members_do_not_matter_only_that_they_are_there() -> None:
    assert differences({"nextCursor": "a"}, {"nextCursor": "b"}, opaque=["nextCursor"]) == []
    assert [each.path for each in differences({"nextCursor": "a"}, {}, opaque=["nextCursor"])] == [
        "nextCursor"
    ]
