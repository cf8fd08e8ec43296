"""Makes one finding of several that say the same of different things."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from wigwag.doctor.findings import Finding

__all__ = ["grouped"]

# So many are named; where there are more, the rest is counted.
_MAX_NAMED: Final = 10

# What a server says may be of any length.
_MAX_CHARACTERS: Final = 400
_MAX_NAME_CHARACTERS: Final = 100


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    r"""Join findings that differ in nothing but what they are about, and the evidence.

    >>> one = Finding("tool-name-refused", "error", "hosts refuse it", "a space", "rename", "a")
    >>> two = replace(one, subject="b")
    >>> [joined] = grouped([one, two])
    >>> joined.subject, joined.evidence
    ('a, b', 'a: a space\nb: a space')

    What is very long is cut.
    """
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.code, finding.severity, finding.what, finding.change)
        groups.setdefault(key, []).append(finding)
    return [_joined(group) for group in groups.values()]


def _joined(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        lines = "\n".join(_cut(line) for line in first.evidence.splitlines()[: _MAX_NAMED * 2])
        return replace(first, subject=_cut(first.subject, _MAX_NAME_CHARACTERS), evidence=lines)
    shown = group[:_MAX_NAMED]
    more = [f"and {len(group) - _MAX_NAMED} more"] if group[_MAX_NAMED:] else []
    return replace(
        first,
        subject=", ".join(
            [*(_cut(finding.subject, _MAX_NAME_CHARACTERS) for finding in shown), *more]
        ),
        evidence="\n".join([*(_line(finding) for finding in shown), *more]),
    )


def _line(finding: Finding) -> str:
    subject = _cut(finding.subject, _MAX_NAME_CHARACTERS)
    return _cut(f"{subject}: {finding.evidence}" if finding.evidence else subject)


def _cut(text: str, limit: int = _MAX_CHARACTERS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
