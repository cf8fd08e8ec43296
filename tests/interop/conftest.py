"""What the interop tests share. Run them with `make interop`, which installs the peers first."""

import pytest

from tests.interop.catalogue import INSTALLED

collect_ignore = ["setup.py", "wiretap.py"]


@pytest.fixture(scope="session", autouse=True)
def peers_are_installed() -> None:
    """Ends the run with one hint, not a hundred failures, where the peers are missing."""
    if not any(INSTALLED.glob("*/.installed")):
        pytest.exit("The peers are not installed; run `make interop`.", returncode=1)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Wigwag runs on asyncio."""
    return "asyncio"
