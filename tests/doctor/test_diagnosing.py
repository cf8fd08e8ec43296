"""The whole doctor, over targets of every kind."""

import sys

import pytest

from tests.cli.program import KITEBASE
from tests.interaction.http_server import HttpRequest
from tests.zoo.urls.authorization import guarded
from tests.zoo.urls.old_ways import HttpSse
from tests.zoo.urls.patients import legacy_server
from wigwag import Server
from wigwag.doctor.diagnosing import diagnose
from wigwag.doctor.patience import Patience
from wigwag.testing.http_socket import serving

pytestmark = pytest.mark.anyio

PATIENT = Patience(start=60, answer=60, slow_start=60, exit=60, leftovers=60, total=600)


async def test_a_healthy_process_has_no_findings() -> None:
    steps: list[str] = []
    target = [sys.executable, str(KITEBASE)]
    diagnosis = await diagnose(target, patience=PATIENT, on_step=steps.append)
    assert diagnosis.codes == []
    assert diagnosis.is_healthy
    assert diagnosis.target == f"{sys.executable} {KITEBASE}"
    assert steps[0] == "starting the server as a host would"


async def test_a_server_in_this_process_can_be_examined() -> None:
    assert (await diagnose(Server("library", version="1.0.0"))).is_healthy


async def test_what_nobody_explains_is_found_all_the_same() -> None:
    diagnosis = await diagnose("tcp://127.0.0.1:1")
    assert diagnosis.codes == ["cannot-connect"]


async def test_a_server_at_a_url_is_examined_on_the_way_and_in_what_it_says() -> None:
    library = Server("library", version="1.0.0")
    async with serving(library) as url:
        diagnosis = await diagnose(url, patience=Patience(idle=0.1))
    assert diagnosis.is_healthy
    assert diagnosis.codes == ["cors-missing"]
    assert diagnosis.facts["transport"] == "Streamable HTTP"
    assert diagnosis.facts["server"] == "library 1.0.0"
    assert diagnosis.target == url


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("htp://localhost:8000/mcp", "write http://localhost:8000/mcp"),
        ("localhost:8000/mcp", "write http://localhost:8000/mcp"),
        ("wss://mcp.example/mcp", "MCP does not use WebSockets: write https://mcp.example/mcp"),
    ],
)
async def test_what_was_meant_as_a_url_is_told_as_it_was_meant(written: str, meant: str) -> None:
    diagnosis = await diagnose(written)
    assert diagnosis.codes == ["url-not-usable"]
    assert diagnosis.findings[0].change == meant


@pytest.mark.parametrize("target", ["nowhere", "tcp://localhost", "no such thing"])
async def test_what_is_no_target_stays_an_error(target: str) -> None:
    with pytest.raises(ValueError, match=target.split(maxsplit=1)[0]):
        await diagnose(target)


async def test_a_url_without_a_server_is_explained_once() -> None:
    assert (await diagnose("http://127.0.0.1:1/mcp")).codes == ["nobody-listens"]


async def test_a_server_that_wants_a_token_is_healthy_without_one() -> None:
    async with guarded() as server:
        diagnosis = await diagnose(server.url)
    assert diagnosis.is_healthy
    assert diagnosis.codes == ["token-wanted"]


async def test_a_token_is_sent_and_never_told() -> None:
    async with guarded() as server:
        server.challenge = 'Bearer error="invalid_token", error_description="a-secret-token is bad"'
        diagnosis = await diagnose(server.url, auth="a-secret-token")
        sent = {request.headers.get("authorization") for request in server.asked("initialize")}
    assert diagnosis.codes == ["token-refused"]
    assert sent == {"Bearer a-secret-token"}
    assert "a-secret-token" not in str(diagnosis)


async def test_a_token_that_the_server_repeats_in_what_it_says_is_not_told() -> None:
    async def refuse(request: HttpRequest) -> None:
        await request.refuse(200, -32000, f"no tools for {request.headers['authorization']}")

    async with legacy_server(tools__list=refuse) as server:
        patience = Patience(answer=30.0, idle=0.1)
        diagnosis = await diagnose(server.url, auth="a-secret-token", patience=patience)
    assert "list-fails" in diagnosis.codes
    assert "a-secret-token" not in str(diagnosis)


async def test_a_server_of_the_old_transport_is_examined_in_what_it_says_too() -> None:
    async with HttpSse() as server:
        diagnosis = await diagnose(f"{server.origin}/sse", patience=Patience(answer=30.0))
    assert "http-sse-only" in diagnosis.codes
    assert "cannot-connect" not in diagnosis.codes
    assert diagnosis.facts["revision"] == "2024-11-05"
