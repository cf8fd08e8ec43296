"""Each entry of the page "My server does not connect" is proved by servers of the zoo."""

import re
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT
from tests.docs.proofs import Proof, proofs_of
from tests.doctor.in_memory import connect_to
from tests.doctor.test_processes import AT_ONCE, PATIENT, SOON, of_zoo
from tests.doctor.test_processes import examine as examine_process
from tests.zoo.commands import COMMANDS
from tests.zoo.configurations import CONFIGURATIONS
from tests.zoo.contents import ZOO
from tests.zoo.urls import PATIENTS
from wigwag.doctor.configurations import diagnose_configuration
from wigwag.doctor.content_checks.listing import KINDS
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.patience import Patience
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio

PAGE: Final = ROOT / "docs" / "my-server-does-not-connect.md"

DOCTOR: Final = ROOT / "src" / "wigwag" / "doctor"
KEBAB: Final = r"[a-z]+(?:-[a-z0-9]+)+"

# Who does not answer, or does not leave, must not be waited for as long as all others.
PATIENCE: Final = {
    "answers-only-at-the-end": SOON,
    "initialize-unanswered": SOON,
    "id-zero-unanswered": SOON,
    "serves-http": AT_ONCE,
    "waits-for-a-person": AT_ONCE,
    "no-answer": AT_ONCE,
    "does-not-exit": Patience(start=60, answer=60, exit=0.1, slow_start=60, quiet=0.05),
}


async def of_contents(proof: Proof) -> list[str]:
    target = partial(connect_to, ZOO[proof.name])
    return (await diagnose(target, patience=Patience(answer=30.0))).codes


async def of_urls(proof: Proof) -> list[str]:
    return [finding.code for finding in await PATIENTS[proof.name].findings()]


async def of_processes(proof: Proof) -> list[str]:
    server = of_zoo(proof.name)
    found = await examine_process(server, PATIENCE.get(proof.code, PATIENT))
    return [finding.code for finding in found]


async def of_commands(proof: Proof) -> list[str]:
    program, *arguments = COMMANDS[proof.name]
    found = await examine_process(StdioServerParameters(program, arguments))
    return [finding.code for finding in found]


async def of_configurations(proof: Proof) -> list[str]:
    name, text = CONFIGURATIONS[proof.name]
    with tempfile.TemporaryDirectory() as folder:
        diagnoses = await diagnose_configuration(placed(Path(folder, name), text))
    return [code for diagnosis in diagnoses for code in diagnosis.codes]


def placed(file: Path, text: str) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


CODES_OF: Final[dict[str, Callable[[Proof], Awaitable[list[str]]]]] = {
    "commands": of_commands,
    "configurations": of_configurations,
    "contents": of_contents,
    "processes": of_processes,
    "urls": of_urls,
}


@pytest.mark.broken_messages(sometimes=True)
@pytest.mark.parametrize("proof", proofs_of(PAGE), ids=str)
async def test_the_doctor_finds_what_the_page_says(proof: Proof) -> None:
    assert proof.code in await CODES_OF[proof.place](proof)


def test_the_table_has_all_that_is_found_in_contents() -> None:
    files = [DOCTOR / "contents.py", DOCTOR / "eras.py", *(DOCTOR / "content_checks").glob("*.py")]
    sources = "".join(file.read_text("utf-8") for file in files)
    codes = set(re.findall(rf'(?:^\s+|else )"({KEBAB})"(?:,| if)', sources, re.MULTILINE))
    kinds = [kind.name.replace(" ", "-") for kind in KINDS]
    codes |= {f"{fault}-{kind}" for fault in ("duplicate", "malformed") for kind in kinds}
    table = PAGE.read_text("utf-8").partition("## All that is found")[2].partition("## Still")[0]
    assert set(re.findall(rf"`({KEBAB})`", table)) - {"x-mcp-header"} == codes


def test_every_entry_of_the_page_has_a_proof() -> None:
    entries = re.split(r"^###? ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    fixes = [entry.partition("\n")[0] for entry in entries if "**Fix:**" in entry]
    proved = [entry.partition("\n")[0] for entry in entries if "<!-- zoo: " in entry]
    assert len(fixes) > 40
    assert fixes == proved
