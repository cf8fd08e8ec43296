"""What the doctor says: findings, each with its evidence and what to change, and the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

__all__ = ["Diagnosis", "Facts", "Finding", "Severity"]

Severity = Literal["error", "warning", "note"]

Facts = dict[str, Any]
"""What was found that is no fault, such as the revision spoken or the time to the first answer.

Each part of the doctor adds to it under names of its own; the values can be written as JSON.
"""

_GRAVEST_FIRST: Final = ("error", "warning", "note")


class Finding(Struct, frozen=True):
    """One thing that is wrong with a server, or worth knowing.

    Nothing in it is secret. What a server said is in it as it was said: escape it before it is
    shown.

    Attributes:
        code: What kind of finding it is: a name that stays, such as `banner-on-stdout`.
        severity: `error`: hosts cannot use the server, or a part of it. `warning`: some hosts
            cannot, or not always. `note`: worth knowing, and no fault.
        what: What is wrong, in one line.
        evidence: What shows it: the words of the server, a status, a time; may have several lines,
            or be empty.
        change: What to do about it, as an instruction.
        subject: What it is about, where a server has several: the name of a tool, say.
    """

    code: str
    severity: Severity
    what: str
    evidence: str
    change: str
    subject: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether something should be changed."""
        return self.severity != "note"


class Diagnosis(Struct, frozen=True):
    """What was found out about one server.

    Attributes:
        target: What was examined, as a person would write it.
        findings: What is wrong, the gravest first.
        facts: What else was found out.
    """

    target: str
    findings: Sequence[Finding]
    facts: Facts

    @property
    def is_healthy(self) -> bool:
        """Whether there are neither errors nor warnings."""
        return not any(finding.is_fault for finding in self.findings)

    @property
    def codes(self) -> list[str]:
        """The codes of the findings, in their order."""
        return [finding.code for finding in self.findings]


def gravest_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order in which to read them; what is said twice is said once."""
    return sorted(dict.fromkeys(findings), key=lambda each: _GRAVEST_FIRST.index(each.severity))
