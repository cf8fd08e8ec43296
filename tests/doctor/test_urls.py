"""What the doctor finds on the way to a URL: each fault of the zoo, and nothing where none is."""

from __future__ import annotations

import pytest

from tests.zoo.urls import PATIENTS
from tests.zoo.urls.authorization import guarded
from tests.zoo.urls.patients import (
    PATIENCE,
    legacy_server,
    modern_server,
)
from wigwag import Server
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.urls import check_url
from wigwag.testing.http_socket import serving

pytestmark = pytest.mark.anyio


async def examine(url: str, facts: Facts | None = None, **options: object) -> list[Finding]:
    found = {} if facts is None else facts
    given = {"patience": PATIENCE, "facts": found, **options}
    return [finding async for finding in check_url(url, **given)]  # type: ignore[arg-type]  # as said


def find_books(word: str) -> str:
    """Find books."""
    return word


def faults(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings if finding.is_fault]


@pytest.mark.parametrize("name", PATIENTS)
async def test_each_fault_of_the_zoo_is_found_and_nothing_else(name: str) -> None:
    findings = await PATIENTS[name].findings()
    assert faults(findings) == [PATIENTS[name].code], findings
    for finding in findings:
        assert finding.what
        assert finding.change
        assert finding.what.isprintable()
        assert finding.change.isprintable()
        assert all(line.isprintable() for line in finding.evidence.splitlines())


async def test_nothing_is_wrong_with_a_sound_legacy_server() -> None:
    facts: Facts = {}
    async with legacy_server() as server:
        findings = await examine(server.url, facts)
        assert server.sessions == []  # none is left behind
    assert faults(findings) == []
    assert facts["has_sessions"] is True
    assert facts["addresses"] == ["127.0.0.1"]


async def test_nothing_is_wrong_with_a_sound_modern_server() -> None:
    async with modern_server() as server:
        assert faults(await examine(server.url)) == []


async def test_nothing_is_wrong_with_a_server_of_ours() -> None:
    facts: Facts = {}
    library = Server("library")
    library.tool(find_books)
    async with serving(library) as url:
        findings = await examine(url, facts)
    assert [finding.code for finding in findings] == ["cors-missing"]
    assert facts["has_standalone_stream"] is True
    assert facts["has_subscriptions"] is True


async def test_a_guarded_server_whose_way_to_tokens_is_sound_wants_a_token_and_no_change() -> None:
    facts: Facts = {}
    async with guarded() as server:
        findings = await examine(server.url, facts)
        asked = {request.path for request in server.requests}
    assert [finding.code for finding in findings] == ["token-wanted"]
    assert facts["authorization_servers"] == [server.origin]
    assert not asked & {"/authorize", "/token", "/register"}
