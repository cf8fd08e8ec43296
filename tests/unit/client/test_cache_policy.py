"""How a user may want answers to be kept."""

import pytest

from wigwag.client.cache_policy import CachePolicy


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_time_that_makes_no_sense_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match=rf"`max_stale` is 0 or more seconds, not {seconds}"):
        CachePolicy(max_stale=seconds)


def test_without_more_a_client_keeps_its_own_answers_for_itself() -> None:
    assert CachePolicy() == CachePolicy(store=None, principal=None, server=None, max_stale=300.0)
