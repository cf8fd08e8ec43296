"""Runs the official conformance suite against `server.py` and `client.py`, and counts strictly.

    python conformance/run.py [server|client] [--revision REVISION] [--scenario NAME] [--verbose]

Exits with 1 if anything that is planned did not run, or did not pass without a warning. What the
suite and the programs have written stays in `.conformance/results`.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance import plan
from conformance.counting import (
    Result,
    client_problem,
    count,
    folders_of_scenarios,
    read_checks,
)
from conformance.setup import ROOT, SUITE, TARGET, SetupFailed, find_node, install

RESULTS: Final = TARGET / "results"
TURNS: Final = TARGET / "turns"
SCENARIO_SECONDS: Final = 30.0
START_SECONDS: Final = 15.0
STOP_SECONDS: Final = 5.0
CLIENTS_IN_FLIGHT: Final = 3
INTERRUPTED: Final = 130


class Leg(NamedTuple):
    """One side in one revision, and what became of its scenarios."""

    side: str
    revision: str
    results: list[Result]
    seconds: float


class Suite:
    """The suite as it is installed here."""

    def __init__(self) -> None:
        self._node = find_node()
        self._running: set[subprocess.Popen[str]] = set()
        self._listed: dict[str, str] = {}

    def run(self, *arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
        """Run one command of the suite to its end, or until it has taken too long.

        Paths among the arguments are relative: the suite splits commands at spaces.
        """
        command = [self._node, "--no-warnings", str(SUITE.relative_to(ROOT)), *arguments]
        # A group of its own, as it starts programs that must end with it.
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._running.add(process)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            output += f"\nstopped after {seconds:g} s"
        except BaseException:
            self.stop()
            raise
        finally:
            self._running.discard(process)
        return subprocess.CompletedProcess(command, process.returncode, output)

    def stop(self) -> None:
        """End everything that runs."""
        for process in list(self._running):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def names(self, side: str, revision: str) -> set[str]:
        """Return the scenarios that the suite has for one side in a revision."""
        if side not in self._listed:
            self._listed[side] = self.run("list", f"--{side}", seconds=SCENARIO_SECONDS).stdout
        return names_listed(self._listed[side], revision)


def names_listed(text: str, revision: str) -> set[str]:
    """Return the scenarios that a list of the suite's has in a revision.

    Each has a line such as `- ping [2025-06-18,2025-11-25]`, or `[extension]`.
    """
    wanted = {revision, *(["extension"] if revision in plan.EXTENDED else [])}
    lines = [line.strip().removeprefix("- ").rstrip("]") for line in text.splitlines()]
    found = [line.partition(" [") for line in lines]
    return {name for name, _, where in found if not wanted.isdisjoint(where.split(","))}


def is_ours(scenario: str) -> bool:
    """Tell whether a scenario is about something that we claim."""
    return not scenario.startswith(plan.NOT_OURS)


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Run the server to be tested; yields its URL.

    Raises:
        RuntimeError: It did not start, or did not end as it should.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "conformance/server.py", str(port)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _wait_listening(port, process, log)
        yield f"http://localhost:{port}/mcp"
        process.terminate()
        if process.wait(STOP_SECONDS) != 0:
            raise RuntimeError(f"the server ended with {process.returncode}: see {log}")
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the server did not end {STOP_SECONDS:g} s after SIGTERM") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_listening(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                text = f"the server does not listen:\n{log.read_text()}"
                raise RuntimeError(text) from None
            time.sleep(0.05)
        else:
            return


def check_log(log: Path) -> list[Leg]:
    """Report what went wrong in the server, though the suite may have taken it for an answer."""
    crashed = [line for line in log.read_text().splitlines() if " failed (reference " in line]
    problems = tuple(dict.fromkeys(line.partition(" (")[0] for line in crashed))
    return [Leg("server", "all", [Result("server.log", 0, (), problems)], 0.0)] if problems else []


def run_server_leg(suite: Suite, url: str, revision: str, scenarios: Sequence[str]) -> list[Result]:
    """Run the server's scenarios of one revision; all in one go, if it is all of them."""
    folder = RESULTS / f"server-{revision}"
    fixed = [
        "server",
        "--url",
        url,
        "--spec-version",
        revision,
        "-o",
        str(folder.relative_to(ROOT)),
    ]
    planned = plan.SERVER[revision]
    if set(scenarios) == set(planned):
        commands = [[*fixed, "--suite", "all"]]
    else:
        commands = [[*fixed, "--scenario", scenario] for scenario in scenarios]
    folder.mkdir(parents=True)
    for number, command in enumerate(commands):
        done = suite.run(*command, seconds=SCENARIO_SECONDS * (1 + len(scenarios)))
        (folder / f"suite-{number}.txt").write_text(done.stdout)
    return count(scenarios, read_checks(folder, prefix="server-"))


def run_client_leg(suite: Suite, revision: str, scenarios: Sequence[str]) -> list[Result]:
    """Run the client's scenarios of one revision; all in one go, if it is all of them."""
    folder = RESULTS / f"client-{revision}"
    python = os.path.relpath(sys.executable, ROOT)  # not resolved: it is the environment's
    turn = f"{python} -I -S conformance/turn.py {TURNS.relative_to(ROOT)} {CLIENTS_IN_FLIGHT}"
    seconds = SCENARIO_SECONDS * (1 + len(scenarios))
    fixed = [
        "client",
        "--command",
        f"{turn} {python} conformance/client.py",
        "--timeout",
        str(int(seconds * 1000)),
        "-o",
        str(folder.relative_to(ROOT)),
    ]
    if set(scenarios) != set(plan.CLIENT[revision]):
        # Extensions have no revision, and are run in one all the same if forced to.
        which = [["--scenario", each, "--spec-version", revision, "--force"] for each in scenarios]
    elif revision in plan.EXTENDED:
        which = [["--requirements", revision]]
    else:
        which = [["--suite", "all", "--spec-version", revision]]
    folder.mkdir(parents=True)
    for number, options in enumerate(which):
        done = suite.run(*fixed, *options, seconds=seconds + START_SECONDS)
        (folder / f"suite-{number}.txt").write_text(done.stdout)
    results = count(scenarios, read_checks(folder))
    folders = folders_of_scenarios(folder)
    return [_with_client_problem(each, folders.get(each.scenario)) for each in results]


def _with_client_problem(result: Result, folder: Path | None) -> Result:
    if folder is None:
        return result
    printed, errors = ((folder / f"{name}.txt").read_text() for name in ("stdout", "stderr"))
    problem = client_problem(result.scenario, printed=printed, errors=errors)
    return result if problem is None else result._replace(problems=(*result.problems, problem))


def check_plan(suite: Suite, side: str, revision: str, planned: Sequence[str]) -> list[Result]:
    """Report what the suite has and the plan has not, and the other way round."""
    offered = {name for name in suite.names(side, revision) if is_ours(name)}
    stray = offered ^ set(planned)
    return [
        Result(name, 0, (), ("the suite and conformance/plan.py differ",)) for name in sorted(stray)
    ]


def run_leg(suite: Suite, side: str, revision: str, url: str, only: str | None) -> Leg:
    """Run one side in one revision."""
    started = time.monotonic()
    planned = (plan.SERVER if side == "server" else plan.CLIENT)[revision]
    scenarios = [name for name in planned if only in (None, name)]
    results = [] if only else check_plan(suite, side, revision, planned)
    if scenarios and side == "server":
        results += run_server_leg(suite, url, revision, scenarios)
    elif scenarios:
        results += run_client_leg(suite, revision, scenarios)
    return Leg(side, revision, results, time.monotonic() - started)


def report(legs: Sequence[Leg], *, verbose: bool) -> bool:
    """Print a table and what failed; tells whether nothing did."""
    failed = [(leg, result) for leg in legs for result in leg.results if result.problems]
    for leg, result in failed:
        print(f"\n{leg.side} {leg.revision} {result.scenario}")
        for problem in result.problems:
            print(f"    {problem}")
    print(f"\n{'':8}{'revision':12}{'passed':>10}{'checks':>8}{'skipped':>9}{'seconds':>9}")
    for leg in legs:
        passed = sum(not result.problems for result in leg.results)
        checks = sum(result.passed for result in leg.results)
        skipped = sum(len(result.skipped) for result in leg.results)
        score = f"{passed}/{len(leg.results)}"
        print(f"{leg.side:8}{leg.revision:12}{score:>10}{checks:>8}{skipped:>9}{leg.seconds:>9.1f}")
        for result in leg.results if verbose else ():
            mark = "FAILED" if result.problems else f"{result.passed} checks"
            print(f"    {result.scenario}: {mark} {' '.join(result.skipped)}")
    return not failed


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Run the official conformance suite.")
    parser.add_argument("side", nargs="?", choices=("server", "client"), help="only this side")
    parser.add_argument("--revision", choices=tuple(plan.SERVER), help="only in this revision")
    parser.add_argument("--scenario", help="only this scenario")
    parser.add_argument("--verbose", action="store_true", help="list what has passed, too")
    return parser.parse_args()


def main() -> int:
    """Run what is asked for; returns the exit code."""
    options = parse_arguments()
    sides = [side for side in ("server", "client") if options.side in (None, side)]
    revisions = [name for name in plan.SERVER if options.revision in (None, name)]
    try:
        install()
        suite = Suite()
        shutil.rmtree(RESULTS, ignore_errors=True)
        RESULTS.mkdir(parents=True)
        legs: list[Leg] = []
        if "server" in sides:
            with serving(RESULTS / "server.log") as url:
                legs += [
                    run_leg(suite, "server", name, url, options.scenario) for name in revisions
                ]
        if "client" in sides:
            legs += [run_leg(suite, "client", name, "", options.scenario) for name in revisions]
    except (SetupFailed, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    legs = [leg for leg in legs if leg.results]
    if not legs:
        print("there is no such scenario", file=sys.stderr)
        return 1
    return 0 if report(legs, verbose=options.verbose) else 1


if __name__ == "__main__":
    sys.exit(main())
