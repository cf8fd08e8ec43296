from msgspec.structs import replace

from wigwag.doctor.content_checks.grouping import grouped
from wigwag.doctor.findings import Finding

FOUND = Finding("tool-name-refused", "error", "hosts refuse it", "a dot", "rename it", "a.b")


def test_what_is_found_once_stays_as_it_is() -> None:
    assert grouped([FOUND]) == [FOUND]


def test_what_differs_in_the_subject_alone_is_one_finding() -> None:
    other = replace(FOUND, subject="c.d", evidence="")
    [joined] = grouped([FOUND, other])
    assert joined.subject == "a.b, c.d"
    assert joined.evidence == "a.b: a dot\nc.d"
    assert joined.what == FOUND.what


def test_what_differs_in_anything_else_stays_apart() -> None:
    others = [
        replace(FOUND, code="tool-name-long"),
        replace(FOUND, severity="note"),
        replace(FOUND, what="another"),
        replace(FOUND, change="shorten it"),
    ]
    assert grouped([FOUND, *others]) == [FOUND, *others]


def test_of_many_the_first_are_named_and_the_rest_is_counted() -> None:
    [joined] = grouped(replace(FOUND, subject=f"tool.{n}") for n in range(62))
    assert joined.subject.endswith("tool.9, and 52 more")
    assert joined.evidence.splitlines()[-2:] == ["tool.9: a dot", "and 52 more"]
