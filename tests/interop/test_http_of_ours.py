"""How Wigwag's server and the clients of others use HTTP: statuses, headers, sessions, streams."""

from collections import Counter

import pytest

from tests.interop import tours
from tests.interop.conversation import Exchange
from tests.interop.tours import Tour

RUNS = [run for run in tours.CLIENT_RUNS if run.channel != "stdio"]
STREAM = "text/event-stream"


@pytest.fixture(scope="module", params=RUNS, ids=str)
def tour(request: pytest.FixtureRequest) -> Tour:
    """One client's tour of our server over HTTP, made once for all the tests."""
    return tours.of(request.param)


def posts(tour: Tour) -> list[Exchange]:
    """What the client posted."""
    return [each for each in tour.exchanges if each.method == "POST"]


def test_every_request_is_accepted(tour: Tour) -> None:
    statuses = Counter((each.method, each.status) for each in tour.exchanges)
    assert statuses.keys() <= {("POST", 200), ("POST", 202), ("GET", 200), ("DELETE", 200)}


def test_only_what_has_no_answer_is_answered_with_an_empty_202(tour: Tour) -> None:
    if tour.run.channel == "sse":
        assert {each.status for each in posts(tour)} == {202}
        return
    silent = [each for each in posts(tour) if each.status == 202]
    notes = [r for r in tour.sent("client") if r.kind != "request"]
    assert len(silent) == len(notes)
    assert all(each.response["content-length"] == "0" for each in silent)


def test_answers_are_streams_only_where_something_comes_before_the_result(tour: Tour) -> None:
    kinds = {each.response["content-type"] for each in posts(tour) if each.status == 200}
    if tour.run.channel == "sse":
        assert not kinds
        return
    assert kinds == {STREAM, "application/json"}
    streams = [each for each in posts(tour) if each.response.get("content-type") == STREAM]
    asked = [r for r in tour.sent("server") if r.kind == "request"]
    listens = [r for r in tour.sent("client") if r.method == "subscriptions/listen"]
    # Two with progress, two with log messages (one of them filtered, or not asked for, perhaps).
    assert 3 <= len(streams) - len(asked) - len(listens) <= 4


def test_no_proxy_is_to_keep_or_to_change_a_stream(tour: Tour) -> None:
    streams = [each for each in tour.exchanges if each.response.get("content-type") == STREAM]
    assert streams
    for each in streams:
        assert each.response["x-accel-buffering"] == "no"
        assert "no-transform" in each.response["cache-control"]


def test_modern_requests_have_no_sessions(tour: Tour) -> None:
    if not tour.is_modern:
        pytest.skip("sessions are of the legacy era")
    assert not [each for each in tour.exchanges if "mcp-session-id" in each.response]
    assert {each.method for each in tour.exchanges} == {"POST"}


def test_a_legacy_session_begins_with_initialize_and_ends_with_delete(tour: Tour) -> None:
    if tour.is_modern or tour.run.channel == "sse":
        pytest.skip("no session of Streamable HTTP")
    [started] = [each for each in tour.exchanges if "mcp-session-id" in each.response]
    assert started is tour.exchanges[0]
    session = started.response["mcp-session-id"]
    others = [each for each in tour.exchanges if each is not started]
    assert {each.request["mcp-session-id"] for each in others} == {session}
    [ended] = [each for each in others if each.method == "DELETE"]
    assert ended.status == 200


def test_a_legacy_client_is_told_of_changes_on_the_stream_that_it_gets(tour: Tour) -> None:
    if tour.is_modern:
        pytest.skip("a modern client listens instead")
    streams = [each for each in tour.exchanges if each.method == "GET"]
    assert streams
    assert {each.status for each in streams} == {200}
    news = {r.method for r in tour.sent("server") if r.method.endswith(("updated", "list_changed"))}
    assert news == {"notifications/resources/updated", "notifications/tools/list_changed"}


def test_a_client_that_says_more_in_headers_says_there_what_the_body_says(tour: Tour) -> None:
    if not tour.is_modern:
        pytest.skip("the headers are of the modern era")
    methods = [r.method for r in tour.sent("client") if r.kind == "request"]
    said = [each.request["mcp-method"] for each in posts(tour) if each.status == 200]
    assert Counter(said) == Counter(methods)
    assert {each.request["mcp-protocol-version"] for each in posts(tour)} == {tour.run.revision}
