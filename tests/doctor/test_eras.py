"""Which eras and revisions the doctor finds that servers speak, over every kind of connection."""

import sys
from functools import partial

import pytest

from tests.docs.pages import ROOT
from tests.doctor.in_memory import connect_to
from tests.interaction.http_server import HttpRequest, HttpServer
from tests.zoo.animal import LEGACY, MODERN, Animal
from tests.zoo.contents import ZOO
from tests.zoo.urls import PATIENTS
from wigwag import Server
from wigwag.client.targets import Opener, opener_for
from wigwag.doctor.eras import check_eras
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.testing.http_socket import serving
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio

PATIENT = Patience(start=60.0, answer=60.0)


def library(**options: object) -> Server:
    server = Server("library", version="1.0.0", **options)  # type: ignore[arg-type]  # as given

    @server.tool
    def find_books(word: str) -> str:
        """Find books."""
        return word

    return server


async def examine(opener: Opener) -> tuple[list[Finding], Facts]:
    facts: Facts = {}
    findings = [each async for each in check_eras(opener, patience=PATIENT, facts=facts)]
    return findings, facts


def of_zoo(name: str) -> Opener:
    command = [sys.executable, "-S", "-m", "tests.zoo.contents", name]
    server = StdioServerParameters(command[0], command[1:], cwd=ROOT)
    return opener_for(server, on_stderr=lambda _: None)


async def test_a_server_over_http_is_asked_in_every_revision() -> None:
    async with serving(library()) as url:
        findings, facts = await examine(opener_for(url))
    assert findings == []
    assert facts["revisions"] == dict.fromkeys([*LEGACY, MODERN], "works")
    assert facts["eras"] == ["legacy", "modern"]


async def test_a_modern_server_over_http_refuses_legacy_hosts() -> None:
    async with serving(library(revisions=[MODERN])) as url:
        [finding], facts = await examine(opener_for(url))
    assert finding.code == "legacy-hosts-refused"
    assert "2025-11-25 is answered with: " in finding.evidence
    assert "(error -32" in finding.evidence
    assert facts["eras"] == ["modern"]


@pytest.mark.broken_messages("server", sometimes=True)
async def test_a_server_of_http_sse_is_asked_over_that() -> None:
    async with PATIENTS["of-2024"].serve() as place:
        findings, facts = await examine(opener_for(place.url))
    assert findings == []
    assert facts["eras"] == ["legacy"]
    assert facts["revisions"]["2024-11-05"] == "works"


class Guarded(HttpServer):
    """A server that lets nobody in."""

    async def handle(self, request: HttpRequest) -> None:
        await request.answer(401, b"who are you")


async def test_a_refusal_of_http_is_told_by_its_status() -> None:
    async with Guarded() as server:
        findings, facts = await examine(opener_for(server.url))
    assert findings == []  # the examination of the URL has them
    assert facts["eras"] == []
    assert "answered 401" in facts["revisions"]["2025-11-25"]


async def test_what_a_server_offers_instead_is_told() -> None:
    animal = Animal(legacy=("2025-03-26",))
    findings, facts = await examine(opener_for(partial(connect_to, animal)))
    assert findings == []
    assert facts["revisions"] == {
        "2024-11-05": "the server offers 2025-03-26 instead",
        "2025-03-26": "works",
        "2025-06-18": "the server offers 2025-03-26 instead",
        "2025-11-25": "the server offers 2025-03-26 instead",
        "2026-07-28": "Method not found: server/discover (error -32601)",
    }


@pytest.mark.broken_messages("server", sometimes=True)
@pytest.mark.parametrize("name", ["healthy", "healthy-modern", "modern-only", "agrees-to-anything"])
async def test_a_process_is_found_to_speak_the_same_as_in_memory(name: str) -> None:
    findings, facts = await examine(of_zoo(name))
    assert [finding.code for finding in findings] == list(ZOO[name].finds)
    [_, in_memory] = await examine(opener_for(partial(connect_to, ZOO[name])))
    assert facts == in_memory


async def test_a_server_that_dies_of_the_modern_question_is_found() -> None:
    [finding], facts = await examine(of_zoo("dies-when-asked"))
    assert finding.code == "dies-of-unknown-method"
    assert "exited with code 1" in finding.evidence
    assert facts["eras"] == ["legacy"]
