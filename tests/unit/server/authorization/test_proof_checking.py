import asyncio

import pytest

from tests.unit.oauth.signing import edwards, elliptic, prove
from wigwag.errors import VerifierUnavailable
from wigwag.oauth.proofs import InvalidProof
from wigwag.oauth.secret import Secret
from wigwag.server.authorization.proof_checking import DPoPRules, NonceDemanded, ProofChecker

pytestmark = pytest.mark.anyio

URL = "https://mcp.example/mcp"
TOKEN = "s3cret-token"
NOW = 1_000_000.0


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


async def check(checker: ProofChecker, *proofs: str) -> None:
    await checker.check(
        proofs,
        method="POST",
        url=URL,
        token=Secret(TOKEN),
        key_thumbprint=elliptic().thumbprint,
    )


def proof(nonce: str | None = None, now: float = NOW) -> str:
    return prove(elliptic(), URL, TOKEN, now=now, nonce=nonce)


async def test_a_proof_is_good_once() -> None:
    checker = ProofChecker(clock=Clock())
    made = proof()
    await check(checker, made)
    with pytest.raises(InvalidProof, match="used before"):
        await check(checker, made)
    await check(checker, proof())


async def test_of_two_requests_with_the_same_proof_one_is_let_in() -> None:
    checker = ProofChecker(clock=Clock())
    made = proof()
    results = await asyncio.gather(
        *(check(checker, made) for _ in range(5)), return_exceptions=True
    )
    assert sorted(type(each).__name__ for each in results) == ["InvalidProof"] * 4 + ["NoneType"]


async def test_a_proof_that_was_not_signed_with_its_key_uses_nothing_up() -> None:
    checker = ProofChecker(clock=Clock())
    made = proof()
    forged = made[:-8] + ("A" * 8 if made[-8:] != "A" * 8 else "B" * 8)
    with pytest.raises(InvalidProof, match="not signed with its key"):
        await check(checker, forged)
    await check(checker, made)


async def test_somebody_elses_signature_over_my_key_is_no_proof() -> None:
    checker = ProofChecker(clock=Clock())
    forged = prove(elliptic("thief"), URL, TOKEN, now=NOW, header={"jwk": elliptic().jwk})
    with pytest.raises(InvalidProof, match="not signed with its key"):
        await check(checker, forged)
    point = {**elliptic().jwk, "x": "A" * 43}
    with pytest.raises(InvalidProof, match="another key"):
        await check(checker, prove(elliptic(), URL, TOKEN, now=NOW, header={"jwk": point}))


async def test_several_proofs_are_none() -> None:
    with pytest.raises(InvalidProof, match="more than one"):
        await check(ProofChecker(clock=Clock()), proof(), proof())


async def test_a_server_that_wants_nonces_gives_one_and_takes_it() -> None:
    clock = Clock()
    checker = ProofChecker(DPoPRules(nonces=True), clock=clock)
    with pytest.raises(NonceDemanded) as caught:
        await check(checker, proof())
    nonce = caught.value.nonce
    made = proof(nonce)
    await check(checker, made)
    assert checker.next_nonce([made]) is None
    clock.now += 200
    later = proof(nonce, clock.now)
    await check(checker, later)
    following = checker.next_nonce([later])
    assert following not in (None, nonce)
    clock.now += 200
    with pytest.raises(NonceDemanded):
        await check(checker, proof(nonce, clock.now))
    await check(checker, proof(following, clock.now))


async def test_processes_that_share_a_key_take_each_others_nonces() -> None:
    rules = DPoPRules(nonces=True, nonce_keys=(b"k" * 32,))
    with pytest.raises(NonceDemanded) as caught:
        await check(ProofChecker(rules, clock=Clock()), proof())
    await check(ProofChecker(rules, clock=Clock()), proof(caught.value.nonce))
    with pytest.raises(NonceDemanded):
        await check(ProofChecker(DPoPRules(nonces=True), clock=Clock()), proof(caught.value.nonce))
    assert "kkk" not in repr(rules)


async def test_without_nonces_there_is_none_to_tell() -> None:
    assert ProofChecker(clock=Clock()).next_nonce([proof()]) is None
    assert ProofChecker(DPoPRules(nonces=True), clock=Clock()).next_nonce(["nonsense"]) is None


async def test_a_store_that_fails_lets_nobody_in_and_blames_nobody() -> None:
    class Broken:
        async def remember(self, key: str, lifetime: float) -> bool:
            raise ConnectionError("no route")

    with pytest.raises(VerifierUnavailable, match="store"):
        await check(ProofChecker(replays=Broken(), clock=Clock()), proof())


async def test_a_proof_is_remembered_until_it_is_too_old() -> None:
    class Recording:
        lifetimes: list[float] = []  # noqa: RUF012 - of this test alone

        async def remember(self, key: str, lifetime: float) -> bool:
            self.lifetimes.append(lifetime)
            return True

    recording = Recording()
    checker = ProofChecker(replays=recording, clock=Clock())
    for iat in (NOW - 100, NOW, NOW + 300):
        await check(checker, prove(elliptic(), URL, TOKEN, now=iat))
    assert recording.lifetimes == [200, 300, 600]


@pytest.mark.parametrize("algorithms", [("HS256",), ("none",), ("ES256", "RS1"), ()])
def test_proofs_cannot_be_signed_with_what_both_know(algorithms: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="cannot be signed with"):
        DPoPRules(algorithms=algorithms)


async def test_algorithms_can_be_limited() -> None:
    checker = ProofChecker(DPoPRules(algorithms=("Ed25519",)), clock=Clock())
    with pytest.raises(InvalidProof, match="algorithm"):
        await check(checker, proof())
    await checker.check(
        [prove(edwards(), URL, TOKEN, now=NOW, alg="Ed25519")],
        method="POST",
        url=URL,
        token=Secret(TOKEN),
        key_thumbprint=edwards().thumbprint,
    )
