"""What the doctor finds on the way to a URL: each fault of the zoo, and nothing where none is."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest

from tests.interaction.http_server import HttpRequest, HttpServer
from tests.zoo.urls import PATIENTS
from tests.zoo.urls.authorization import guarded
from tests.zoo.urls.connections import certified
from tests.zoo.urls.patients import (
    ATTENTIVE,
    PATIENCE,
    always,
    answering,
    greeting,
    legacy_server,
    modern_server,
)
from tests.zoo.urls.streams import report
from wigwag import Server
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.url_checks.connections import check_connections, check_encryption
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import initialize
from wigwag.doctor.url_checks.streams import judge_progress
from wigwag.doctor.urls import check_url
from wigwag.oauth.urls import read_url
from wigwag.testing.http_socket import serving

pytestmark = pytest.mark.anyio


async def examine(url: str, facts: Facts | None = None, **options: Any) -> list[Finding]:
    found = {} if facts is None else facts
    checking = check_url(url, **{"patience": PATIENCE, "facts": found, **options})
    return [finding async for finding in checking]


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


# --- notes, which are no faults


async def noted(place_or_server: Any, **options: Any) -> list[str]:
    findings = await examine(place_or_server.url, **options)
    assert faults(findings) == []
    return [finding.code for finding in findings]


async def test_that_any_page_may_use_a_server_of_this_machine_is_noted() -> None:
    async with legacy_server() as server:
        assert await noted(server) == ["cors-missing", "origin-not-checked"]


async def test_that_pages_of_the_inspector_are_refused_is_noted() -> None:
    async def refuse_pages(request: HttpRequest) -> None:
        if "origin" in request.headers:
            await request.answer(403, b"Invalid Origin header", kind="text/plain")
        else:
            await greeting()(request)

    async with legacy_server(session=None, initialize=refuse_pages) as server:
        assert await noted(server) == ["origin-refused"]


async def test_that_an_unknown_session_is_taken_for_a_bad_request_is_noted() -> None:
    async def check(request: HttpRequest) -> None:
        if request.headers.get("mcp-session-id") == "s-1":
            await request.result()
        else:
            await request.refuse(400, -32000, "Bad Request: No valid session ID provided")

    answers = {"initialize": greeting(session="s-1"), "DELETE": always(200)}
    async with legacy_server(session=None, ping=check, **answers) as server:
        assert "unknown-session-not-404" in await noted(server)


@pytest.mark.parametrize("token", [None, "a-secret-token"])
async def test_pages_need_no_leave_for_a_token_where_none_is_wanted(token: str | None) -> None:
    page = ("Access-Control-Allow-Origin", "*")
    taken = "content-type, mcp-protocol-version, mcp-session-id"
    allow = always(204, headers=(page, ("Access-Control-Allow-Headers", taken)))
    answers = {"OPTIONS": allow, "initialize": greeting(page)}
    given = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with legacy_server(session=None, **answers) as server:
        found = await examine(server.url, headers=given)
    assert faults(found) == ([] if token is None else ["cors-incomplete"])


async def test_that_a_stream_ends_by_itself_is_noted() -> None:
    async def end(request: HttpRequest) -> None:
        await request.stream(b": here\n\n")

    async with legacy_server(GET=end) as server:
        assert "stream-ends" in await noted(server, patience=ATTENTIVE)


async def test_a_tool_without_progress_says_nothing_about_streams() -> None:
    async with legacy_server() as server:
        assert "no-progress" in await noted(server, call=("work", {"a": 1}))
        [called] = server.asked("tools/call")
    assert called.message["params"]["arguments"] == {"a": 1}


def test_progress_that_comes_when_it_is_made_is_no_fault() -> None:
    asker = Asker("http://127.0.0.1/mcp", headers={}, tls=None, patience=PATIENCE)
    body = b"".join(f"data: {json.dumps(report(step))}\n\n".encode() for step in (1, 2))
    answered = Exchange(
        asked="POST", status=200, headers={"content-type": "text/event-stream"}, body=body
    )
    answered.pieces = [(0.2, 60), (0.7, 60)]
    assert judge_progress(asker, answered, "work") is None
    answered.pieces = [(0.71, 60), (0.72, 60)]
    finding = judge_progress(asker, answered, "work")
    assert finding is not None
    assert finding.code == "progress-in-one-lump"


async def test_a_proxy_that_the_environment_names_is_noted_and_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with legacy_server() as server:
        monkeypatch.setenv("http_proxy", server.origin)
        monkeypatch.setenv("no_proxy", "")
        findings = await examine("http://mcp.example.invalid/mcp")
    assert findings[0].code == "proxy-used"
    assert server.requests[0].path == "http://mcp.example.invalid/mcp"


# --- the way


async def test_an_answer_that_is_no_stream_is_waited_for_longer_than_for_an_event() -> None:
    async def take_time(request: HttpRequest) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request.message["id"], "result": {}}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        await request.raw(head.encode() + b"\r\n\r\n")
        await asyncio.sleep(0.2)  # it is that slow
        await request.raw(body)

    patience = Patience(answer=30.0, event=0.05)
    async with answering(take_time) as place:
        asker = Asker(place.url, headers={}, tls=None, patience=patience)
        assert (await asker.post(initialize())).result == {}


async def test_addresses_that_nobody_serves_are_told() -> None:
    async with legacy_server() as server:
        facts: Facts = {}
        url = read_url(f"http://mcp.example:{server.port}/mcp")
        found = await check_connections(url, ["127.0.0.1", "127.0.0.2"], PATIENCE, facts)
    [finding] = found
    assert (finding.code, finding.severity) == ("address-not-served", "warning")
    assert finding.evidence == f"127.0.0.2 port {server.port}: connection refused"


async def test_of_this_machine_it_is_only_noted_that_one_of_its_addresses_is_not_served() -> None:
    async with legacy_server() as server:
        url = read_url(f"http://localhost:{server.port}/mcp")
        [finding] = await check_connections(url, ["127.0.0.2", "127.0.0.1"], PATIENCE, {})
    assert finding.severity == "note"
    assert "write 127.0.0.1 instead of localhost" in finding.change


@pytest.mark.parametrize(
    ("address", "severity"), [("8.8.8.8", "warning"), ("10.0.0.7", "note"), ("fd00::1", "note")]
)
def test_plain_http_through_a_network_is_told(address: str, severity: str) -> None:
    finding = check_encryption(read_url("http://mcp.example/mcp"), [address])
    assert finding is not None
    assert (finding.code, finding.severity) == ("not-encrypted", severity)


def test_plain_http_on_this_machine_and_https_are_fine() -> None:
    assert check_encryption(read_url("http://127.0.0.1/mcp"), ["127.0.0.1"]) is None
    assert check_encryption(read_url("https://mcp.example/mcp"), ["8.8.8.8"]) is None


async def test_a_redirect_from_https_to_http_is_followed_without_credentials() -> None:
    tls, trusting = certified()
    async with legacy_server() as plain, HttpServer(tls=tls) as server:
        server._handle = always(307, headers=(("Location", plain.url),))
        given = {"Authorization": "Bearer a-secret-token"}
        findings = await examine(server.url, tls=trusting, headers=given)
    assert faults(findings) == ["redirect-to-http"]
    assert plain.requests
    assert not any("authorization" in request.headers for request in plain.requests)


async def test_what_a_server_says_is_told_on_one_line_without_what_it_was_sent() -> None:
    echo = b"\x1b[2Jno \r\n way, Bearer a-secret-token, key-of-mine, hidden-too \xe2\x80\xae"
    async with answering(always(403, echo, kind="text/plain")) as place:
        given = {"Authorization": "Bearer a-secret-token", "X-Api-Key": "key-of-mine"}
        [finding] = await examine(f"{place.url}?key=hidden-too", headers=given)
    assert finding.code == "forbidden"
    assert "no way" in finding.evidence
    told = str(finding)
    for secret in ("a-secret-token", "key-of-mine", "hidden-too", "\x1b", "\\x1b", "\u202e"):
        assert secret not in told


async def test_a_url_with_a_password_in_it_is_not_repeated() -> None:
    [finding] = await examine("http://me:password@127.0.0.1/mcp")
    assert finding.code == "credentials-in-url"
    assert "me:password" not in str(finding)


async def test_what_has_no_meaning_as_a_url_gets_the_form_of_one() -> None:
    for url in ("https://münchen.example/mcp", "https://", "http://[::1", "not a url"):
        [finding] = await examine(url)
        assert finding.code == "url-not-usable"
        assert finding.change.startswith("write it as https://host/path")


async def test_metadata_is_not_fetched_from_places_that_a_server_must_not_send_to() -> None:
    issuers = {"authorization_servers": ["https://169.254.169.254/"]}
    async with guarded(resource=issuers) as server:
        findings = await examine(server.url)
    assert faults(findings) == ["authorization-server-unreachable"]
    assert "169.254.169.254" in findings[0].evidence


async def test_nothing_is_left_when_nobody_wants_to_know_the_rest() -> None:
    async with legacy_server() as server:
        checking = check_url(server.url, patience=PATIENCE, facts={})
        async with aclosing(checking):
            async for _ in checking:
                break
        assert server.sessions == []


async def test_headers_of_the_user_are_sent_besides_those_of_the_protocol() -> None:
    async with legacy_server() as server:
        given = {"accept": "text/html", "X-Tenant": "a-tenant"}
        assert faults(await examine(server.url, headers=given)) == []
    for request in server.requests:
        names = [name.lower() for name, _ in request.all_headers]
        assert len(names) == len(set(names))
    for request in server.asked("initialize"):
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert request.headers["x-tenant"] == "a-tenant"
