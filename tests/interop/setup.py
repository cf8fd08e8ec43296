"""Installs the peers of the interop tests, each into an environment of its own under `.interop/`.

    python tests/interop/setup.py [NAME ...]

Versions are pinned in `requirements/` and `node/`. What is already installed in those versions is
left alone, so a second run takes a moment. Needs Node 20 and npm for the TypeScript peers. nginx
and Chromium are the machine's own, or Debian's packages, unpacked here; without either, the tests
with it are skipped.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / ".interop"


def is_current(target: Path, pins: str) -> bool:
    """Whether what `pins` asks for is what was installed there last."""
    stamp = target / ".installed"
    return stamp.exists() and stamp.read_text() == pins


def run(name: str, command: list[str], *, cwd: Path | None = None) -> None:
    """Runs one step of an installation.

    Raises:
        RuntimeError: The step failed; what it printed is in the message.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        message = (
            f"{name}: {' '.join(command)} exited with {done.returncode}\n{done.stdout}{done.stderr}"
        )
        raise RuntimeError(message)


def install_python(name: str, requirements: Path) -> str:
    """Makes a virtual environment with exactly what `requirements` pins."""
    target = TARGET / name
    pins = f"{sys.version}\n{hashlib.sha256(requirements.read_bytes()).hexdigest()}\n"
    if is_current(target, pins):
        return f"{name}: there"
    shutil.rmtree(target, ignore_errors=True)
    run(name, [sys.executable, "-m", "venv", str(target)])
    pip = [
        str(target / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-qq",
    ]
    run(name, [*pip, "--no-deps", "-r", str(requirements)])
    (target / ".installed").write_text(pins)
    return f"{name}: installed"


def install_node(name: str, project: Path) -> str:
    """Makes a folder with exactly the node_modules that the project's lock file pins."""
    target = TARGET / "node" / name
    npm = shutil.which("npm")
    if npm is None:
        message = f"{name}: npm is not on PATH; the TypeScript peers need Node 20 and npm"
        raise RuntimeError(message)
    lock = (project / "package-lock.json").read_bytes() + (project / "package.json").read_bytes()
    pins = f"{hashlib.sha256(lock).hexdigest()}\n"
    if is_current(target, pins):
        return f"node/{name}: there"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(project, target)
    run(name, [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target)
    (target / ".installed").write_text(pins)
    return f"node/{name}: installed"


def install_nginx(name: str, target: Path) -> str:
    """Unpacks Debian's nginx, unless the machine has one."""
    if shutil.which("nginx"):
        return f"{name}: there"
    return unpack(name, target, target / "usr/sbin/nginx", ["download", "nginx"], ["-v"])


def install_chromium(name: str, target: Path) -> str:
    """Unpacks Debian's Chromium without windows and what it needs, unless the machine has one."""
    if any(map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))):
        return f"{name}: there"
    program = target / "usr/lib/chromium/chromium-headless-shell"
    fetch = ["--yes", "--no-install-recommends", "--download-only", "install", program.name]
    return unpack(name, target, program, fetch, None)


def unpack(
    name: str, target: Path, program: Path, fetch: list[str], attempt: list[str] | None
) -> str:
    """Unpacks packages of Debian into a folder; needs neither root nor a clean system.

    Args:
        name: What it is for.
        target: The folder.
        program: What is to be there in the end.
        fetch: What apt-get is to do, so that the packages are in the current folder or its cache.
        attempt: Arguments with which the program ends well, to see whether it runs.
    """
    if program.exists():
        return f"{name}: there"
    apt = shutil.which("apt-get")
    if apt is None:
        return f"{name}: neither it nor apt-get is here; the tests with it will be skipped"
    with tempfile.TemporaryDirectory() as folder:
        # Lists of our own: on a new machine there are none, and the system's are root's.
        for each in ("lists/partial", "archives/partial"):
            (Path(folder) / each).mkdir(parents=True)
        own = [
            f"Dir::State::lists={folder}/lists",
            f"Dir::Cache={folder}",
            "APT::Sandbox::User=",
            "Debug::NoLocking=1",
        ]
        options = [part for each in own for part in ("-o", each)]
        try:
            run(name, [apt, "-qq", *options, "update"])
            run(name, [apt, "-qq", *options, *fetch], cwd=Path(folder))
            # Beside it at first: what is interrupted must not pass for the whole.
            partial = target.with_name(f"{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            for package in sorted(Path(folder).rglob("*.deb")):
                run(name, ["dpkg-deb", "--extract", str(package), str(partial)])
            if attempt is not None:
                run(name, [str(partial / program.relative_to(target)), *attempt])
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        except RuntimeError as error:
            return f"{error}\n{name}: not to be had; the tests with it will be skipped"
    return f"{name}: installed"


def main() -> int:
    """Installs the named peers, or all; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these peers")
    wanted = set(parser.parse_args().names)
    steps: list[tuple[str, Callable[[str, Path], str], Path]] = [
        (path.stem, install_python, path) for path in sorted((HERE / "requirements").glob("*.txt"))
    ] + [(f"node/{path.name}", install_node, path) for path in sorted((HERE / "node").iterdir())]
    steps.append(("nginx", install_nginx, TARGET / "nginx"))
    steps.append(("chromium", install_chromium, TARGET / "chromium"))
    with ThreadPoolExecutor(max_workers=2) as pool:
        started = [
            pool.submit(install, path.stem if path.is_file() else path.name, path)
            for name, install, path in steps
            if not wanted or name in wanted
        ]
        failed = 0
        for step in started:
            try:
                print(step.result())
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
