"""Counts what the conformance suite has found, more strictly than the suite does.

A scenario passes if it is there, has checked something about us, and every check succeeded. A
warning (a SHOULD that we miss) is a failure, and so is a scenario that ended without a result.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from conformance.plan import SKIPPED

# Checked of every message anyway: alone it says nothing about the scenario.
_BESIDE_THE_POINT: Final = frozenset({"wire-schema-valid", "wire-schema-harness-error"})
# `server-ping-2026-11-30T07-39-07-410Z`; the folders of clients have no `server-`.
_FOLDER: Final = re.compile(r"(?P<name>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")

COMPLETED: Final = "completed: "
"""What a client prints last, before the name of the scenario."""


class Result(NamedTuple):
    """What became of a scenario.

    Attributes:
        scenario: Its name.
        passed: How many checks succeeded.
        skipped: The checks that were skipped, by id.
        problems: Why it failed, a line for each reason; empty if it passed.
    """

    scenario: str
    passed: int
    skipped: tuple[str, ...]
    problems: tuple[str, ...]


def judge(scenario: str, checks: object, *, may_skip: int = 0) -> Result:
    """Judge a scenario by its checks; `None` if it has left none.

    More skipped checks than it may have fail it: something was not put to the test.
    """
    if not isinstance(checks, list):
        return Result(scenario, 0, (), ("it ended without a result",))
    by_status: dict[str, list[dict[str, Any]]] = {}
    for check in checks:
        by_status.setdefault(check.get("status", "no status"), []).append(check)
    succeeded = by_status.pop("SUCCESS", [])
    skipped = by_status.pop("SKIPPED", [])
    by_status.pop("INFO", None)
    if len(skipped) > may_skip:
        by_status["SKIPPED"] = skipped
    problems = [_describe(check) for found in by_status.values() for check in found]
    if not problems and not any(check["id"] not in _BESIDE_THE_POINT for check in succeeded):
        problems.append("it checked nothing")
    return Result(
        scenario, len(succeeded), tuple(check["id"] for check in skipped), tuple(problems)
    )


def _describe(check: Mapping[str, Any]) -> str:
    why = check.get("errorMessage") or check.get("details") or check.get("description", "")
    text = why if isinstance(why, str) else json.dumps(why, ensure_ascii=False)
    return f"{check.get('status')} {check.get('id')}: {text}"


def folders_of_scenarios(folder: Path, *, prefix: str = "") -> dict[str, Path]:
    """Return the folder of every scenario that has one in another; a slash is a folder in it."""
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        match = _FOLDER.fullmatch(path.relative_to(folder).as_posix())
        if match is not None and match["name"].startswith(prefix):
            found[match["name"].removeprefix(prefix)] = path
    return found


def read_checks(folder: Path, *, prefix: str = "") -> dict[str, object]:
    """Return the checks of every scenario that has a folder there; `None` where it has none."""
    found: dict[str, object] = {}
    for name, path in folders_of_scenarios(folder, prefix=prefix).items():
        try:
            found[name] = json.loads((path / "checks.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found[name] = None
    return found


def client_problem(scenario: str, *, printed: str, errors: str) -> str | None:
    """Say how the client failed, whatever the checks say: some scenarios would let it.

    Args:
        scenario: The scenario.
        printed: What the client has printed; last of all, that it has completed.
        errors: What it has written to standard error.
    """
    if printed.rstrip().rpartition("\n")[2] == COMPLETED + scenario:
        return None
    return f"the client did not complete{_last_line(errors)}"


def _last_line(text: str) -> str:
    line = text.rstrip().rpartition("\n")[2]
    return f": {line}" if line else ""


def count(planned: Iterable[str], found: Mapping[str, object]) -> list[Result]:
    """Judge every scenario that was planned, and report every one that was not."""
    planned = tuple(planned)
    results = [
        judge(scenario, found.get(scenario), may_skip=SKIPPED.get(scenario, 0))
        for scenario in sorted(planned)
    ]
    results += [
        Result(scenario, 0, (), ("it is not in conformance/plan.py",))
        for scenario in sorted(found.keys() - set(planned))
    ]
    return results
