"""What the doctor finds in what a server says, once it answers."""

import sys
from functools import partial

import pytest

from tests.doctor.in_memory import connect_to
from tests.zoo.animal import TOOL, Animal, Message
from tests.zoo.contents import COUNTS, ZOO
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.findings import Diagnosis
from wigwag.doctor.patience import Patience

pytestmark = pytest.mark.anyio

IN_PROCESSES = ("dies-when-asked",)

PATIENT = Patience(start=60.0, answer=60.0, total=600.0)


# Who is silent on purpose is not waited for with patience.
SILENT = ("silent-when-asked", "silent-when-read", "silent-when-got")


def patience_for(name: str) -> Patience:
    return Patience(start=60.0, answer=0.5 if name in SILENT else 60.0, total=600.0)


async def diagnosis_of(animal: Animal, patience: Patience) -> Diagnosis:
    return await diagnose(partial(connect_to, animal), patience=patience)


@pytest.mark.broken_messages("server", sometimes=True)
@pytest.mark.parametrize("name", [name for name in ZOO if name not in IN_PROCESSES])
async def test_the_fault_of_each_server_is_found_and_nothing_else(name: str) -> None:
    diagnosis = await diagnosis_of(ZOO[name], patience_for(name))
    assert diagnosis.codes == list(ZOO[name].finds), diagnosis.findings
    for finding in diagnosis.findings:
        assert finding.what
        assert finding.change
        assert (finding.what + finding.change).isprintable()


async def test_how_much_is_offered_is_told() -> None:
    diagnosis = await diagnosis_of(ZOO["healthy"], PATIENT)
    offers = {"tool": 1, "prompt": 1, "resource": 1, "resource template": 0}
    assert diagnosis.facts["offers"] == offers


async def test_one_fault_of_many_tools_is_one_finding() -> None:
    tools = [{**TOOL, "name": f"library.find_{n}"} for n in range(62)]
    [finding] = (await diagnosis_of(Animal(tools=tools), PATIENT)).findings
    assert finding.code == "tool-name-refused"
    assert finding.subject.endswith("library.find_9, and 52 more")


async def test_what_a_server_says_at_length_is_cut() -> None:
    tool = {**TOOL, "name": "no spaces, please " * 10_000}
    diagnosis = await diagnosis_of(Animal(tools=[tool]), PATIENT)
    finding = next(each for each in diagnosis.findings if each.code == "tool-name-refused")
    assert len(finding.subject) < 200
    assert len(finding.evidence) < 2000


async def test_a_server_that_takes_too_long_is_not_waited_for() -> None:
    patience = Patience(start=60.0, answer=60.0, total=0.5)
    diagnosis = await diagnosis_of(ZOO["silent-when-read"], patience)
    assert diagnosis.codes == ["examination-cut-short"]
    assert diagnosis.findings[0].evidence == "0.5 s were over while it was asked for its resources"


async def test_who_has_nothing_to_check_schemas_with_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    diagnosis = await diagnosis_of(ZOO["healthy"], PATIENT)
    assert diagnosis.codes == ["schemas-not-checked"]
    assert diagnosis.is_healthy


async def test_prompts_are_got_as_hosts_do_it() -> None:
    def get(params: Message) -> Message:
        # As servers do that check their arguments, be they all optional.
        assert params["arguments"] == {}
        return {"messages": []}

    prompt = {"name": "recommend", "arguments": [{"name": "word"}]}
    animal = Animal(prompts=[prompt], answers={"prompts/get": get})
    assert (await diagnosis_of(animal, PATIENT)).codes == []


async def test_only_tools_that_read_and_need_nothing_are_called() -> None:
    called = []

    def call(params: Message) -> Message:
        called.append(params["name"])
        return {"content": [], "structuredContent": {"n": 3}}

    tools = [
        {**COUNTS, "name": "reads"},
        {**COUNTS, "name": "writes", "annotations": {"readOnlyHint": False}},
        {**COUNTS, "name": "says_nothing", "annotations": {}},
        {**COUNTS, "name": "needs", "inputSchema": {"type": "object", "required": ["word"]}},
        {**TOOL, "name": "promises_nothing", "annotations": {"readOnlyHint": True}},
    ]
    animal = Animal(tools=tools, answers={"tools/call": call})
    assert (await diagnosis_of(animal, PATIENT)).codes == []
    assert called == ["reads"]
