"""Wigwag's doctor finds nothing wrong with healthy servers that people really run.

They are those of `test_published_servers`, as they are published on npm and PyPI, and the example.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from conformance.setup import find_node
from tests.interop import catalogue
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.findings import Diagnosis
from wigwag.doctor.patience import Patience

pytestmark = [
    pytest.mark.anyio,
    # Some send what the revision does not have that they were asked to speak.
    pytest.mark.broken_messages("server", sometimes=True),
]

KITEBASE: Final = catalogue.HERE.parents[1] / "examples" / "kitebase" / "server.py"

# A busy machine is no fault of theirs.
PATIENCE: Final = Patience(start=120, answer=120, slow_start=60, exit=60, connect=60, total=600)


def without_faults(diagnosis: Diagnosis) -> list[str]:
    """The codes of the notes, after a look that there are no faults."""
    assert [finding for finding in diagnosis.findings if finding.is_fault] == []
    assert diagnosis.facts["eras"] != []
    return diagnosis.codes


async def notes_of(package: str, *arguments: str) -> list[str]:
    """The codes of the notes that the doctor has about a published server."""
    command = catalogue.published(package, *arguments)
    if command[0] == "node":
        command[0] = find_node()
    return without_faults(await diagnose(command, patience=PATIENCE))


async def test_nothing_is_wrong_with_server_everything() -> None:
    assert await notes_of("server-everything") == []


async def test_nothing_is_wrong_with_the_file_system(tmp_path: Path) -> None:
    assert await notes_of("server-filesystem", str(tmp_path)) == []


async def test_nothing_is_wrong_with_the_memory() -> None:
    assert await notes_of("server-memory") == []


async def test_sequential_thinking_is_told_that_its_description_is_long() -> None:
    assert await notes_of("server-sequential-thinking") == ["description-long"]


async def test_nothing_is_wrong_with_the_time() -> None:
    assert await notes_of("mcp-server-time") == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty git repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


async def test_nothing_is_wrong_with_git(repository: Path) -> None:
    assert await notes_of("mcp-server-git", "--repository", str(repository)) == []


async def test_nothing_is_wrong_with_fetch() -> None:
    assert await notes_of("mcp-server-fetch") == []


async def test_nothing_is_wrong_with_kitebase() -> None:
    diagnosis = await diagnose([sys.executable, str(KITEBASE)], patience=PATIENCE)
    assert without_faults(diagnosis) == []
