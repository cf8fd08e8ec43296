"""Makes one finding of several that say the same of different things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from wigwag.doctor.findings import Finding

__all__ = ["grouped"]

# So many are named; where there are more, the rest is counted.
_MAX_NAMED: Final = 10


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    r"""Join findings that differ in nothing but what they are about, and the evidence.

    >>> one = Finding("tool-name-refused", "error", "hosts refuse it", "a space", "rename", "a")
    >>> two = replace(one, subject="b")
    >>> [joined] = grouped([one, two])
    >>> joined.subject, joined.evidence
    ('my a, my b', 'my a: a space\\nmy b: a space')
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.code, finding.severity, finding.what, finding.change)
        groups.setdefault(key, []).append(finding)
    return [_joined(group) for group in groups.values()]


def _joined(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    shown = group[:_MAX_NAMED]
    more = [f"and {len(group) - _MAX_NAMED} more"] if group[_MAX_NAMED:] else []
    return replace(
        first,
        subject=", ".join([*(finding.subject for finding in shown), *more]),
        evidence="\n".join([*(_line(finding) for finding in shown), *more]),
    )


def _line(finding: Finding) -> str:
    return f"{finding.subject}: {finding.evidence}" if finding.evidence else finding.subject
