"""What the interop tests share. Run them with `make interop`, which installs the peers first."""

from collections.abc import Iterator

import pytest

from tests.interop import tours
from tests.interop.catalogue import INSTALLED
from tests.interop.conversation import Oracle

collect_ignore = ["setup.py", "wiretap.py", "http_tap.py", "byte_tap.py"]


@pytest.fixture(scope="session", autouse=True)
def peers_are_installed() -> None:
    """Ends the run with one hint, not a hundred failures, where the peers are missing."""
    if not any(INSTALLED.glob("*/.installed")):
        pytest.exit("The peers are not installed; run `make interop`.", returncode=1)


@pytest.fixture(scope="session", autouse=True)
def tours_are_made(peers_are_installed: None, request: pytest.FixtureRequest) -> None:
    """Makes the tours that the chosen tests look at, before any of them does."""
    chosen = [getattr(item, "callspec", None) for item in request.session.items]
    runs = [each.params.get("tour") for each in chosen if each is not None]
    tours.make(dict.fromkeys(run for run in runs if isinstance(run, tours.Run)))


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
