"""The whole doctor, over targets of every kind."""

import sys

import pytest

from tests.cli.program import KITEBASE
from wigwag import Server
from wigwag.doctor.diagnosing import diagnose

pytestmark = pytest.mark.anyio


async def test_a_healthy_process_has_no_findings() -> None:
    steps: list[str] = []
    diagnosis = await diagnose([sys.executable, str(KITEBASE)], on_step=steps.append)
    assert diagnosis.codes == []
    assert diagnosis.is_healthy
    assert diagnosis.target == f"{sys.executable} {KITEBASE}"
    assert steps[0] == "starting the server as a host would"


async def test_a_server_in_this_process_can_be_examined() -> None:
    assert (await diagnose(Server("library", version="1.0.0"))).is_healthy


async def test_what_nobody_explains_is_found_all_the_same() -> None:
    diagnosis = await diagnose("tcp://127.0.0.1:1")
    assert diagnosis.codes == ["cannot-connect"]
