import pytest

from wigwag.errors import AuthorizationRefused, InsufficientScope
from wigwag.oauth.attempts import Attempts, Refusal, check_refusal, check_step_up, is_step_up
from wigwag.oauth.challenges import Demand
from wigwag.oauth.scopes import FailedStepUps, Scopes
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import Tokens

WHERE = "https://mcp.example"
NEEDS_MORE = Demand(scopes=("b",), error="insufficient_scope")


def refusal(status: int = 403, held: Scopes | None = ("a",), operation: str = "op") -> Refusal:
    used = None
    if held is not None:
        used = Tokens(
            issuer="i", resource=WHERE, client_id="c", access_token=Secret("t"), scopes=held
        )
    return Refusal(status=status, used=used, operation=operation)


@pytest.mark.parametrize(
    ("demand", "held", "expected"),
    [
        (NEEDS_MORE, ("a",), True),
        (NEEDS_MORE, None, True),
        (Demand(scopes=("b",)), ("a",), True),
        (Demand(scopes=("a",)), ("a", "b"), False),
        (Demand(scopes=("b",)), None, False),
        (Demand(scopes=("b",), error="invalid_token"), ("a",), False),
        (Demand(), ("a",), False),
    ],
)
def test_a_token_that_allows_too_little_is_told_from_a_bad_one(
    demand: Demand,
    held: Scopes | None,
    expected: bool,  # noqa: FBT001
) -> None:
    assert is_step_up(demand, refusal(401, held)) is expected


def test_a_plain_403_is_final() -> None:
    demand = Demand(error="access_denied", error_description="not\nyou")
    with pytest.raises(AuthorizationRefused, match="does not allow this: not you") as caught:
        check_refusal(refusal(403), demand, Attempts(), WHERE)
    assert (caught.value.error, caught.value.where) == ("access_denied", WHERE)
    check_refusal(refusal(403), NEEDS_MORE, Attempts(), WHERE)


def test_a_token_that_was_just_issued_and_is_refused_is_a_fault_of_the_server() -> None:
    check_refusal(refusal(401), Demand(error="invalid_token"), Attempts(), WHERE)
    with pytest.raises(AuthorizationRefused, match="just issued for it") as caught:
        check_refusal(refusal(401), Demand(error="invalid_token"), Attempts(grants=1), WHERE)
    assert (caught.value.error, caught.value.where) == ("invalid_token", WHERE)
    check_refusal(refusal(401), Demand(scopes=("b",)), Attempts(grants=1), WHERE)


def test_the_same_challenge_is_answered_once() -> None:
    attempts, failed = Attempts(), FailedStepUps()
    check_step_up(refusal(), ("b",), attempts, failed, WHERE)
    assert not failed.has(WHERE, "op", ("b",))
    with pytest.raises(InsufficientScope, match=r"the scopes b, and asking .* did not help"):
        check_step_up(refusal(), ("b",), attempts, failed, WHERE)
    assert failed.has(WHERE, "op", ("b",))
    with pytest.raises(InsufficientScope):
        check_step_up(refusal(), ("b",), Attempts(), failed, WHERE)
    check_step_up(refusal(operation="other"), ("b",), Attempts(), failed, WHERE)


def test_a_request_is_not_followed_up_for_ever() -> None:
    with pytest.raises(InsufficientScope):
        check_step_up(refusal(), ("z",), Attempts(grants=3), FailedStepUps(), WHERE)
    check_step_up(refusal(), ("z",), Attempts(grants=2), FailedStepUps(), WHERE)


def test_what_the_token_has_is_not_asked_for() -> None:
    with pytest.raises(InsufficientScope, match="the token has them") as caught:
        check_step_up(refusal(held=("a", "b")), ("b",), Attempts(), FailedStepUps(), WHERE)
    assert (caught.value.scopes, caught.value.where) == (("b",), WHERE)
    with pytest.raises(InsufficientScope, match=r"needs more scopes, and .* did not help"):
        check_step_up(refusal(), (), Attempts(), FailedStepUps(), WHERE)


def test_a_request_without_a_token_may_need_scopes_too() -> None:
    check_step_up(refusal(held=None), (), Attempts(), FailedStepUps(), WHERE)
