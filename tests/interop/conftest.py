"""What the interop tests share. Run them with `make interop`, which installs the peers first."""

from collections.abc import Iterator

import pytest

from tests.interop.catalogue import INSTALLED
from tests.interop.conversation import Oracle

collect_ignore = ["setup.py", "wiretap.py"]


@pytest.fixture(scope="session", autouse=True)
def peers_are_installed() -> None:
    """Ends the run with one hint, not a hundred failures, where the peers are missing."""
    if not any(INSTALLED.glob("*/.installed")):
        pytest.exit("The peers are not installed; run `make interop`.", returncode=1)


@pytest.fixture(scope="session")
def oracle(peers_are_installed: None) -> Iterator[Oracle]:
    """What judges the messages that Wigwag sends."""
    oracle = Oracle()
    yield oracle
    oracle.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Wigwag runs on asyncio."""
    return "asyncio"
