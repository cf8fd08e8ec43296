import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

import pytest

from wigwag.oauth.challenges import Challenge, Demand, demand_of, parse_challenges

TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]

URL = "https://mcp.example/.well-known/oauth-protected-resource"


def bearer(**parameters: str) -> Challenge:
    return Challenge("bearer", parameters)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Bearer", [bearer()]),
        ("bEaReR ReAlM=x", [bearer(realm="x")]),
        ('Bearer realm="a, b=c", scope="x y"', [bearer(realm="a, b=c", scope="x y")]),
        ('Bearer scope="a" , realm="b"', [bearer(scope="a", realm="b")]),
        ('Bearer realm = "a"', [bearer(realm="a")]),
        ('Bearer realm="a \\"quoted\\" \\\\ b"', [bearer(realm='a "quoted" \\ b')]),
        (f"Bearer resource_metadata={URL}, error=x", [bearer(resource_metadata=URL, error="x")]),
        ('Bearer a="x" b="y"', [bearer(a="x", b="y")]),
        ('Bearer,a="x"', [bearer(a="x")]),
        ('Bearer a="x", a="y", A="z"', [bearer(a="x")]),
        ('Bearer a=""', [bearer(a="")]),
        ("Bearer z=1, a= ,b=1", [bearer(z="1", a="", b="1")]),
        (
            'Basic realm="x", Bearer scope="s"',
            [Challenge("basic", {"realm": "x"}), bearer(scope="s")],
        ),
        ('Bearer a="b", DPoP algs="ES256"', [bearer(a="b"), Challenge("dpop", {"algs": "ES256"})]),
        ("Basic, Bearer", [Challenge("basic"), bearer()]),
        ("Negotiate YWJj==, Bearer a=b", [Challenge("negotiate", {}, "YWJj=="), bearer(a="b")]),
        ("Negotiate YWJj", [Challenge("negotiate", {}, "YWJj")]),
        (",, ,Bearer ,,a=b,,", [bearer(a="b")]),
        ("Bearer ???, a=b", [bearer(a="b")]),
        ('a="b", Bearer c="d"', [bearer(c="d")]),
        ('Bearer a="b, c="d"', [Challenge("bearer", {"a": "b, c="}), Challenge("d")]),
        ('Bearer a="never ends, b="', [Challenge("bearer", {"a": "never ends, b="})]),
        ('Bearer a="x", b="never ends', [bearer(a="x")]),
        ('Bearer a="x\\', [bearer()]),
        ("", []),
        ("  ,\t, ", []),
        ('"""', []),
        ("=", []),
        ("é, Bearer a=é", [bearer(a="é")]),
    ],
)
def test_challenges_are_read_however_they_are_written(line: str, expected: list[Challenge]) -> None:
    assert list(parse_challenges([line])) == expected


def test_lines_of_the_header_are_read_one_by_one() -> None:
    assert parse_challenges(['Bearer a="never', 'ends", b="c"', "Bearer d=e"]) == (
        bearer(),
        Challenge("ends", {"b": "c"}),
        bearer(d="e"),
    )


def test_what_is_demanded_is_put_together_from_all_challenges_about_tokens() -> None:
    demand = demand_of(
        parse_challenges(
            [
                'Basic realm="x", scope="no"',
                f'DPoP algs="ES256", resource_metadata="{URL}"',
                'Bearer scope="a b a", error="insufficient_scope", error_description="d"',
                'Bearer scope="late"',
            ]
        )
    )
    assert demand == Demand(URL, ("a", "b"), "insufficient_scope", "d")
    assert demand.is_about_scope


def test_a_scope_that_names_nothing_is_as_good_as_none() -> None:
    assert demand_of(parse_challenges(['Bearer scope=""'])) == Demand()
    assert demand_of([]) == Demand()
    assert not demand_of(parse_challenges(["Bearer error=invalid_token"])).is_about_scope


def test_only_so_much_is_read() -> None:
    assert len(parse_challenges(["a, " * 5000])) == 32
    assert len(parse_challenges(["Bearer"] * 100_000)) == 32
    (one,) = parse_challenges(["Bearer " + ", ".join(f"p{n}=1" for n in range(1000))])
    assert len(one.parameters) == 64
    assert parse_challenges(["x" * 16_384, "Bearer"]) == (Challenge("x" * 16_384),)


@pytest.mark.parametrize(
    "piece", ['"', '\\"', "a=", 'a="', "a ", ", ", "=", 'a="\\', "a\t=", "Bearer ", "a=b ", "\\"]
)
def test_reading_visits_no_place_twice(piece: str) -> None:
    """Counted in steps of the reader, because time says little on a busy machine."""
    text = (piece * 16_384)[:16_384]
    assert steps_of(text) < 40 * 16_384


def steps_of(text: str) -> int:
    """Count the lines that are run; the expressions in them are possessive, and so linear."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        parse_challenges([text])
    finally:
        sys.settrace(before)
    return lines
