from math import inf

import pytest

from wigwag.jsonrpc.inflight import InFlight, OutgoingRequest


def sent(
    table: InFlight, *, now: float = 0.0, idle_timeout: float = inf, ceiling: float = inf
) -> OutgoingRequest:
    request = OutgoingRequest(
        table.next_id(), "a", now=now, idle_timeout=idle_timeout, ceiling=ceiling
    )
    table.add(request)
    return request


def test_an_id_is_never_used_twice() -> None:
    table = InFlight()
    ids = []
    for _ in range(100):
        request = sent(table)
        ids.append(request.id)
        table.pop(request.id)
    assert len(set(ids)) == 100


def test_a_request_is_in_flight_until_it_is_taken_out() -> None:
    table = InFlight()
    one, other = sent(table), sent(table)
    assert len(table) == 2
    assert table.get(one.id) is one
    assert table.pop(one.id) is one
    assert table.get(one.id) is None
    assert table.pop(one.id) is None
    assert table.pop("never") is None
    assert len(table) == 1
    assert table.get(other.id) is other


def test_an_id_of_another_type_is_another_id() -> None:
    table = InFlight()
    request = sent(table)
    assert table.get(str(request.id)) is None


def test_all_that_is_in_flight_comes_out_oldest_first() -> None:
    table = InFlight()
    requests = [sent(table) for _ in range(3)]
    assert table.clear() == requests
    assert len(table) == 0
    assert table.clear() == []


def test_without_limits_nothing_expires() -> None:
    table = InFlight()
    sent(table)
    assert table.next_deadline() is None
    assert table.expired(1e18) == []
    assert len(table) == 1


def test_the_idle_limit_counts_from_when_the_request_was_sent() -> None:
    table = InFlight()
    request = sent(table, now=100.0, idle_timeout=5.0)
    assert table.next_deadline() == 105.0
    assert table.expired(104.999) == []
    assert table.expired(105.0) == [request]
    assert table.expired(200.0) == []
    assert len(table) == 0


def test_a_sign_of_life_starts_the_idle_limit_anew() -> None:
    table = InFlight()
    request = sent(table, idle_timeout=5.0)
    table.touch(request, 4.0)
    assert table.next_deadline() == 9.0
    assert table.expired(8.9) == []
    assert table.expired(9.0) == [request]


def test_no_sign_of_life_moves_the_ceiling() -> None:
    table = InFlight()
    request = sent(table, now=10.0, idle_timeout=5.0, ceiling=12.0)
    for now in (14.0, 18.0, 21.0):
        table.touch(request, now)
    assert request.ceiling == 22.0
    assert table.next_deadline() == 22.0
    assert table.expired(22.0) == [request]


def test_the_ceiling_holds_even_when_it_comes_before_the_idle_limit() -> None:
    table = InFlight()
    request = sent(table, idle_timeout=10.0, ceiling=3.0)
    assert table.next_deadline() == 3.0
    assert table.expired(3.0) == [request]


def test_the_next_deadline_is_the_earliest_of_all() -> None:
    table = InFlight()
    sent(table)
    late = sent(table, idle_timeout=9.0)
    early = sent(table, idle_timeout=1.0)
    assert table.next_deadline() == 1.0
    table.pop(early.id)
    assert table.next_deadline() == 9.0
    table.pop(late.id)
    assert table.next_deadline() is None


def test_what_is_late_comes_out_oldest_first_and_the_rest_stays() -> None:
    table = InFlight()
    first = sent(table, idle_timeout=2.0)
    patient = sent(table, idle_timeout=50.0)
    second = sent(table, idle_timeout=1.0)
    assert table.expired(2.0) == [first, second]
    assert table.clear() == [patient]


@pytest.mark.parametrize("token", [None, object()])
def test_a_request_keeps_what_its_sender_wants_back(token: object) -> None:
    assert OutgoingRequest(1, "a", now=0.0, token=token).token is token


def test_ids_may_begin_elsewhere_where_others_ask_as_well() -> None:
    table = InFlight(41)
    assert [table.next_id(), table.next_id()] == [42, 43]


def test_no_limit_counts_while_a_request_is_held() -> None:
    table = InFlight()
    request = sent(table, now=0.0, idle_timeout=10.0, ceiling=60.0)

    table.hold(request.id, 5.0)
    table.hold(request.id, 6.0)
    table.touch(request, 7.0)
    assert table.expired(1000.0) == []
    assert table.next_deadline() is None

    assert table.release(request.id, 1005.0) == 1000.0
    assert (request.sent_at, request.deadline, request.ceiling) == (1000.0, 1015.0, 1060.0)
    assert table.release(request.id, 1006.0) == 0.0
    assert table.expired(1015.0) == [request]


def test_what_is_not_in_flight_cannot_be_held() -> None:
    table = InFlight()
    table.hold("never", 1.0)
    assert table.release("never", 2.0) == 0.0
    request = sent(table)
    table.hold(request.id, 1.0)
    table.pop(request.id)
    assert table.release(request.id, 2.0) == 0.0
