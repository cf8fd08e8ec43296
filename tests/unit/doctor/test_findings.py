"""What the doctor says."""

import pytest

from wigwag.doctor.findings import Diagnosis, Finding, Severity, gravest_first


def finding(code: str, severity: Severity) -> Finding:
    return Finding(code, severity, "what", "evidence", "change")


@pytest.mark.parametrize(
    ("severity", "is_healthy"), [("error", False), ("warning", False), ("note", True)]
)
def test_a_server_is_healthy_if_nothing_must_be_changed(
    severity: Severity, *, is_healthy: bool
) -> None:
    assert Diagnosis("server", [finding("a", severity)], {}).is_healthy is is_healthy


def test_the_gravest_comes_first_and_nothing_twice() -> None:
    found = [
        finding("a", "note"),
        finding("b", "warning"),
        finding("c", "error"),
        finding("b", "warning"),
        finding("d", "error"),
    ]
    assert Diagnosis("server", gravest_first(found), {}).codes == ["c", "d", "b", "a"]
