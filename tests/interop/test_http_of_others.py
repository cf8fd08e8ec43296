"""How Wigwag's client uses HTTP toward the servers of others: headers, sessions, streams."""

from collections import Counter
from typing import Final

import pytest

from tests.interop import tours
from tests.interop.conversation import Exchange
from tests.interop.tours import Tour

RUNS: Final = [run for run in tours.SERVER_RUNS if run.channel != "stdio"]
BOTH: Final = {"application/json", "text/event-stream"}
NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@pytest.fixture(scope="module", params=RUNS, ids=str)
def tour(request: pytest.FixtureRequest) -> Tour:
    """Our client's tour of one server over HTTP, made once for all the tests."""
    return tours.of(request.param)


def served(tour: Tour) -> list[Exchange]:
    """The exchanges after the question which era is there."""
    asked = 0
    if tour.run.era == "auto" and not tour.is_modern:
        asked = 2 if tour.run.channel == "sse" else 1
    return tour.exchanges[asked:]


def test_no_server_refuses_a_request_once_its_era_is_known(tour: Tour) -> None:
    refused = {each.request.get("mcp-name") for each in served(tour) if each.status >= 400}
    # In the modern era some servers have a status for what they do not know by name.
    assert refused <= ({"nonesuch", "demo://nonesuch", "greet"} if tour.is_modern else set())


def test_posts_accept_both_kinds_of_answer(tour: Tour) -> None:
    for each in served(tour):
        accepted = {kind.strip() for kind in each.request.get("accept", "").split(",")}
        if each.method == "POST" and tour.run.channel == "http":
            assert accepted == BOTH
            assert each.request["content-type"] == "application/json"
        elif each.method == "GET":
            assert accepted == {"text/event-stream"}


def test_modern_messages_say_in_headers_what_their_bodies_say(tour: Tour) -> None:
    if not tour.is_modern:
        assert not [each for each in served(tour) if "mcp-name" in each.request]
        return
    said = Counter(
        (
            each.request["mcp-protocol-version"],
            each.request["mcp-method"],
            each.request.get("mcp-name"),
        )
        for each in tour.exchanges
    )
    meant = Counter(
        (r.revision, r.method, r.params.get(NAMED.get(r.method, ""))) for r in tour.sent("client")
    )
    assert said == meant
    assert not [each for each in tour.exchanges if "mcp-session-id" in each.request]


def test_a_legacy_session_is_named_in_every_request_and_ended(tour: Tour) -> None:
    if tour.is_modern or tour.run.channel == "sse":
        pytest.skip("no session of Streamable HTTP")
    [first, *others] = served(tour)
    session = first.response["mcp-session-id"]
    assert "mcp-session-id" not in first.request
    assert {each.request["mcp-session-id"] for each in others} == {session}
    assert {each.request["mcp-protocol-version"] for each in others} == {tour.run.revision}
    assert [each.method for each in others if each.method != "POST"] in (
        ["GET", "DELETE"],
        ["DELETE", "GET"],
    )


def test_over_http_sse_there_is_one_stream_for_all_answers(tour: Tour) -> None:
    if tour.run.channel != "sse":
        pytest.skip("another transport")
    methods = Counter(each.method for each in served(tour))
    assert methods["GET"] == 1
    assert set(methods) == {"GET", "POST"}
    assert {each.status for each in served(tour) if each.method == "POST"} == {202}
