from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.oauth.signing import elliptic, prove
from wigwag import InvalidToken, Principal, StaticTokens, VerifiedToken, VerifierUnavailable
from wigwag.oauth.challenges import demand_of, parse_challenges
from wigwag.oauth.credentials import MAX_TOKEN_CHARACTERS
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.authenticator import Authenticator
from wigwag.server.authorization.contract import TokenVerifier
from wigwag.server.authorization.proof_checking import DPoPRules, ProofChecker
from wigwag.server.authorization.refusals import AuthenticationRefused
from wigwag.server.authorization.verified_tokens import VerifiedTokens

pytestmark = pytest.mark.anyio

RESOURCE = "https://mcp.example/mcp"
METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
ADA, BOB = Principal("ada"), Principal("bob")
NOW = 1_000_000.0


class Answering:
    """A verifier that answers what it is told, and counts."""

    def __init__(self, answer: VerifiedToken | Exception | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    async def verify(self, token: Secret, resource: str) -> VerifiedToken | None:
        self.asked.append((token.reveal(), resource))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def authenticator(*verifiers: TokenVerifier) -> Authenticator:
    return Authenticator(verifiers, clock=lambda: NOW)


async def ask(
    who: Authenticator, *authorization: str, proofs: Sequence[str] = (), query: str = ""
) -> VerifiedToken:
    return await who.authenticate(authorization, proofs, "POST", RESOURCE, RESOURCE, query=query)


async def refusal(
    who: Authenticator, *authorization: str, proofs: Sequence[str] = (), query: str = ""
) -> AuthenticationRefused:
    with pytest.raises(AuthenticationRefused) as caught:
        await ask(who, *authorization, proofs=proofs, query=query)
    return caught.value


STATIC = StaticTokens({"token-a": ADA})


async def test_a_good_token_lets_its_owner_in() -> None:
    assert (await ask(authenticator(STATIC), "Bearer token-a")).principal is ADA


async def test_without_a_token_there_is_a_challenge_and_no_error() -> None:
    who = authenticator(STATIC)
    for lines in ((), ("Basic dTpw",)):
        refused = await refusal(who, *lines)
        assert (refused.status, refused.error) == (401, None)
        headers = who.response_headers(refused, resource_metadata=METADATA, scopes=("read",))
        assert headers == [
            ("cache-control", "no-store"),
            ("www-authenticate", f'Bearer scope="read", resource_metadata="{METADATA}"'),
        ]


@pytest.mark.parametrize("line", ["Bearer", "Bearer a b", "", "Bearer é", "Bearer \ud800"])
async def test_what_cannot_be_read_is_a_bad_request(line: str) -> None:
    refused = await refusal(authenticator(STATIC), line)
    assert (refused.status, refused.error) == (400, "invalid_request")


async def test_a_token_in_the_url_is_not_accepted_not_even_a_good_one() -> None:
    refused = await refusal(authenticator(STATIC), query="access_token=token-a")
    assert (refused.status, refused.error) == (400, "invalid_request")
    refused = await refusal(authenticator(STATIC), "Bearer token-a", query="access_token=token-a")
    assert "use the Authorization header" in refused.description
    assert (await ask(authenticator(STATIC), "Bearer token-a", query="a=1")).principal is ADA


async def test_a_token_that_nobody_knows_is_invalid() -> None:
    who = authenticator(STATIC)
    refused = await refusal(who, "Bearer token-b")
    assert (refused.status, refused.error) == (401, "invalid_token")
    lines = [value for name, value in who.response_headers(refused) if name == "www-authenticate"]
    assert demand_of(parse_challenges(lines)).error == "invalid_token"
    assert "no verifier knows it" in refused.reason


async def test_the_client_learns_less_than_the_log() -> None:
    who = authenticator(Answering(InvalidToken("the issuer is https://evil.example")))
    refused = await refusal(who, "Bearer s3cret")
    assert refused.reason == "the issuer is https://evil.example"
    assert "evil" not in str(who.response_headers(refused))
    assert "s3cret" not in repr(refused) + str(refused)


async def test_verifiers_are_asked_in_order_until_one_knows_the_token() -> None:
    first, second = Answering(None), Answering(VerifiedToken(principal=BOB))
    third = Answering(VerifiedToken(principal=ADA))
    assert (await ask(authenticator(first, second, third), "Bearer t")).principal is BOB
    assert (first.asked, second.asked, third.asked) == ([("t", RESOURCE)], [("t", RESOURCE)], [])


async def test_what_one_verifier_refuses_no_other_is_asked_about() -> None:
    last = Answering(VerifiedToken(principal=ADA))
    refused = await refusal(authenticator(Answering(InvalidToken("no")), last), "Bearer t")
    assert (refused.error, last.asked) == ("invalid_token", [])


async def test_a_verifier_that_cannot_tell_costs_nobody_his_token() -> None:
    who = authenticator(Answering(VerifierUnavailable("the keys cannot be had", 7.2)))
    refused = await refusal(who, "Bearer t")
    assert (refused.status, refused.error, refused.retry_after) == (503, None, 7.2)
    headers = who.response_headers(refused, resource_metadata=METADATA)
    assert headers == [("cache-control", "no-store"), ("retry-after", "7")]


async def test_a_verifier_that_is_away_shuts_out_nobody_whom_another_one_knows() -> None:
    away = Answering(VerifierUnavailable("the keys cannot be had"))
    there = Answering(VerifiedToken(principal=BOB))
    assert (await ask(authenticator(away, there), "Bearer t")).principal is BOB
    refused = await refusal(authenticator(away, Answering(None)), "Bearer t")
    assert refused.status == 503
    refused = await refusal(authenticator(away, Answering(InvalidToken("no"))), "Bearer t")
    assert refused.status == 401


async def test_a_token_is_verified_once_and_a_bad_one_each_time() -> None:
    good = Answering(VerifiedToken(principal=ADA, expires_at=NOW + 60))
    who = authenticator(good)
    assert await ask(who, "Bearer t") is await ask(who, "bearer t")
    assert len(good.asked) == 1
    bad = Answering(InvalidToken("no"))
    who = authenticator(bad)
    for _ in range(2):
        await refusal(who, "Bearer t")
    assert len(bad.asked) == 2


async def test_a_token_that_is_known_is_not_taken_when_it_comes_in_another_way() -> None:
    who = authenticator(Answering(VerifiedToken(principal=ADA)))
    await ask(who, "Bearer t")
    for lines in (("Bearer t", "Bearer t"), ("Bearer t x",), ("Basic t",), ("DPoP t",)):
        await refusal(who, *lines)
    await refusal(who, "Bearer t", query="access_token=t")
    assert (await ask(who, "Bearer t ", query="a=b")).principal is ADA


async def test_how_many_are_remembered_is_up_to_the_author() -> None:
    good = Answering(VerifiedToken(principal=ADA))
    who = Authenticator([good], verified=VerifiedTokens(0))
    for _ in range(2):
        await ask(who, "Bearer t")
    assert len(good.asked) == 2


async def test_a_verifier_that_forgets_the_time_is_corrected() -> None:
    refused = await refusal(
        authenticator(Answering(VerifiedToken(principal=ADA, expires_at=NOW - 600))), "Bearer t"
    )
    assert (refused.error, refused.description) == ("invalid_token", "the token has expired")


async def test_an_enormous_token_is_not_even_looked_at() -> None:
    verifier = Answering(VerifiedToken(principal=ADA))
    refused = await refusal(authenticator(verifier), f"Bearer {'a' * (MAX_TOKEN_CHARACTERS + 1)}")
    assert (refused.status, refused.error, verifier.asked) == (401, "invalid_token", [])


async def test_a_token_that_is_bound_to_a_key_is_no_bearer_token() -> None:
    who = authenticator(Answering(VerifiedToken(principal=ADA, key_thumbprint="x" * 43)))
    for _ in range(2):  # verified the first time, remembered the second
        refused = await refusal(who, "Bearer t")
        assert (refused.status, refused.error) == (401, "invalid_token")
        headers = who.response_headers(refused)
        lines = [value for name, value in headers if name == "www-authenticate"]
        assert [line.split(" ")[0] for line in lines if "invalid_token" in line] == ["DPoP"]


async def test_a_bearer_token_is_not_accepted_as_a_bound_one() -> None:
    refused = await refusal(authenticator(STATIC), "DPoP token-a", proofs=["x"])
    assert (refused.status, refused.error, refused.used) == (401, "invalid_token", "DPoP")


def bound(**rules: Any) -> Authenticator:
    verifier = Answering(VerifiedToken(principal=ADA, key_thumbprint=elliptic().thumbprint))
    checker = ProofChecker(DPoPRules(**rules), clock=lambda: NOW)
    return Authenticator([verifier], proofs=checker, clock=lambda: NOW)


def proof(token: str = "t", **changes: Any) -> str:
    return prove(elliptic(), RESOURCE, token, now=NOW, **changes)


async def test_a_bound_token_with_its_proof_lets_its_owner_in_each_time_anew() -> None:
    who = bound()
    for _ in range(2):
        assert (await ask(who, "DPoP t", proofs=[proof()])).principal is ADA
    assert who.success_headers([proof()]) == []


@pytest.mark.parametrize(
    ("proofs", "said"),
    [
        ([], "no proof"),
        ([proof("another")], "another token"),
        ([proof(method="GET")], "another method"),
        ([proof(), proof()], "more than one"),
    ],
)
async def test_a_bound_token_without_its_proof_is_refused(proofs: list[str], said: str) -> None:
    who = bound()
    refused = await refusal(who, "DPoP t", proofs=proofs)
    assert (refused.status, refused.error) == (401, "invalid_dpop_proof")
    assert said in refused.description
    lines = [value for name, value in who.response_headers(refused) if name == "www-authenticate"]
    assert lines[0] == "Bearer"
    assert lines[1].startswith('DPoP error="invalid_dpop_proof", error_description="')
    assert lines[1].endswith('algs="ES256 ES384 ES512 EdDSA Ed25519 PS256 RS256"')


async def test_a_server_that_wants_nonces_says_so() -> None:
    who = bound(nonces=True)
    refused = await refusal(who, "DPoP t", proofs=[proof()])
    assert (refused.status, refused.error) == (401, "use_dpop_nonce")
    headers = dict(who.response_headers(refused))
    nonce = headers["dpop-nonce"]
    assert 'error="use_dpop_nonce"' in headers["www-authenticate"]
    assert (await ask(who, "DPoP t", proofs=[proof(nonce=nonce)])).principal is ADA
    assert who.success_headers([proof(nonce=nonce)]) == []
    assert [name for name, _ in who.success_headers([proof(nonce="old")])] == ["dpop-nonce"]


async def test_a_server_that_wants_bound_tokens_refuses_all_others() -> None:
    verifiers = [STATIC]
    checker = ProofChecker(DPoPRules(required=True, algorithms=("ES256",)))
    who = Authenticator(verifiers, proofs=checker)
    refused = await refusal(who, "Bearer token-a")
    assert (refused.error, refused.description) == (
        "invalid_token",
        "the token must be bound to a key",
    )
    (line,) = who.challenges(error=refused.error, used=refused.used)
    assert line == 'DPoP error="invalid_token", algs="ES256"'
    assert who.challenges() == ('DPoP algs="ES256"',)
