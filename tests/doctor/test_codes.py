"""The page of the doctor names what it finds in processes and configurations, and nothing else."""

import re
from typing import Final

from tests.docs.pages import ROOT

DOCTOR: Final = ROOT / "src" / "wigwag" / "doctor"
SOURCES: Final = [
    *DOCTOR.glob("process_checks/*.py"),
    *DOCTOR.glob("configuration_checks/*.py"),
    DOCTOR / "processes.py",
    DOCTOR / "configurations.py",
]
KEBAB: Final = r"[a-z]+\d*(?:-[a-z0-9]+)+"

# Names of encodings, headers, folders and packages.
NO_CODES: Final = {
    *("utf-8", "utf-8-sig", "utf-16-be", "utf-16-le", "content-length", "site-packages"),
    *("google-api-python-client", "opencv-python", "psycopg2-binary", "python-dateutil"),
    *("python-dotenv", "scikit-learn", "wigwag-doctor"),
}


def test_the_page_names_every_finding_and_no_other() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    codes = set(re.findall(rf'"({KEBAB})"', sources)) - NO_CODES
    page = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+`) \|", page.partition("## What it finds in")[2], re.MULTILINE)
    told = re.findall(rf"`({KEBAB})`", "".join(cells))
    assert set(told) == codes
    assert len(told) == len(codes)
