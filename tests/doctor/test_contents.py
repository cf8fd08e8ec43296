"""What the doctor finds in what a server says, once it answers."""

from functools import partial

import pytest

from tests.doctor.in_memory import connect_to
from tests.zoo.animal import Animal
from tests.zoo.contents import ZOO
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.findings import Diagnosis
from wigwag.doctor.patience import Patience

pytestmark = pytest.mark.anyio

IN_PROCESSES = ("dies-when-asked",)


async def diagnosis_of(animal: Animal) -> Diagnosis:
    patience = Patience(answer=0.5 if "silent-on-unknown-method" in animal.finds else 30.0)
    return await diagnose(partial(connect_to, animal), patience=patience)


@pytest.mark.broken_messages("server", sometimes=True)
@pytest.mark.parametrize("name", [name for name in ZOO if name not in IN_PROCESSES])
async def test_the_fault_of_each_server_is_found_and_nothing_else(name: str) -> None:
    diagnosis = await diagnosis_of(ZOO[name])
    assert diagnosis.codes == list(ZOO[name].finds), diagnosis.findings
    for finding in diagnosis.findings:
        assert finding.what
        assert finding.change
        assert "\n" not in finding.what + finding.change
