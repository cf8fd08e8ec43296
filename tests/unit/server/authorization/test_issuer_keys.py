import asyncio
import logging
from typing import Any

import pytest

from tests.unit.oauth.signing import elliptic, rsa
from wigwag.errors import VerifierUnavailable
from wigwag.oauth.requests import HttpRequest, HttpResponse
from wigwag.server.authorization.issuer_keys import FetchedKeys, GivenKeys

pytestmark = pytest.mark.anyio

ISSUER = "https://as.example"
JWKS = f"{ISSUER}/jwks"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Issuer:
    """Answers requests for keys, and counts them."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.asked = 0
        self.cache_control = "max-age=600"
        self.error: VerifierUnavailable | None = None
        self.body: bytes | None = None
        self.status = 200
        self.may_answer: asyncio.Event | None = None

    async def fetch(self, request: HttpRequest) -> HttpResponse:
        import msgspec  # noqa: PLC0415 - used here only

        assert request.url == JWKS
        self.asked += 1
        if self.may_answer is not None:
            await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        keys = [elliptic(name).jwk for name in self.names]
        body = msgspec.json.encode({"keys": keys}) if self.body is None else self.body
        return HttpResponse(self.status, (("Cache-Control", self.cache_control),), body)


class House:
    def __init__(self, *names: str) -> None:
        self.clock = Clock()
        self.issuer = Issuer(*names)
        self.keys = FetchedKeys(ISSUER, JWKS, self.issuer.fetch, clock=self.clock)

    async def find(self, kid: Any = "a", algorithm: str = "ES256") -> list[str | None]:
        return [key.kid for key in await self.keys.find(kid, algorithm)]

    async def settle(self) -> None:
        """Let what happens in the background happen."""
        for _ in range(20):
            await asyncio.sleep(0)


async def test_keys_are_fetched_at_the_first_token_and_kept() -> None:
    house = House("a", "b")
    for _ in range(3):
        assert await house.find("a") == ["a"]
        assert await house.find("b") == ["b"]
    assert house.issuer.asked == 1


async def test_many_first_tokens_at_once_fetch_once() -> None:
    house = House("a")
    assert await asyncio.gather(*(house.find() for _ in range(50))) == [["a"]] * 50
    assert house.issuer.asked == 1


async def test_keys_whose_lifetime_is_over_are_fetched_while_the_old_ones_serve() -> None:
    house = House("a")
    await house.find()
    house.issuer.names = ["b"]
    house.clock.now += 599
    assert await house.find() == ["a"]
    await house.settle()
    assert house.issuer.asked == 1
    house.clock.now += 2
    assert await house.find() == ["a"]
    await house.settle()
    assert house.issuer.asked == 2
    assert await house.find() == []


async def test_a_key_that_is_new_is_fetched_when_it_is_needed() -> None:
    house = House("a")
    await house.find()
    house.issuer.names = ["a", "b"]
    house.clock.now += 11
    assert await house.find("b") == ["b"]
    assert house.issuer.asked == 2


async def test_a_storm_of_unknown_keys_makes_few_requests() -> None:
    house = House("a")
    await house.find()
    for second in range(60):
        results = await asyncio.gather(*(house.find(f"{second}-{n}") for n in range(20)))
        assert results == [[]] * 20
        house.clock.now += 1
    assert house.issuer.asked <= 7  # in a minute, ten seconds apart
    assert await house.find("a") == ["a"]


async def test_a_key_of_another_algorithm_is_not_found_and_asked_for_no_more_often() -> None:
    house = House("a")
    for _ in range(5):
        assert await house.find("a", "RS256") == []
    assert house.issuer.asked == 1


async def test_old_keys_stay_in_use_while_the_issuer_cannot_be_reached() -> None:
    house = House("a")
    await house.find()
    house.issuer.error = VerifierUnavailable("no answer")
    for _ in range(10):
        house.clock.now += 400
        assert await house.find() == ["a"]
        await house.settle()
    house.clock.now += 400
    with pytest.raises(VerifierUnavailable, match="no answer"):
        await house.find()
    house.issuer.error = None
    house.clock.now += 3
    assert await house.find() == ["a"]


async def test_whether_a_new_key_is_good_cannot_be_told_while_the_issuer_is_away() -> None:
    house = House("a")
    await house.find()
    house.clock.now += 11
    house.issuer.error = VerifierUnavailable("no answer")
    for _ in range(3):
        with pytest.raises(VerifierUnavailable, match="no answer") as caught:
            await house.find("b")
        assert 0 < caught.value.retry_after <= 10
    assert house.issuer.asked == 2


async def test_an_issuer_that_is_away_at_first_is_asked_again_soon(
    caplog: pytest.LogCaptureFixture,
) -> None:
    house = House("a")
    house.issuer.error = VerifierUnavailable("nobody listens")
    with caplog.at_level(logging.WARNING, "wigwag.server"):
        for _ in range(10):
            with pytest.raises(VerifierUnavailable, match="nobody listens"):
                await house.find()
    assert house.issuer.asked == 1
    assert len(caplog.records) == 1
    house.issuer.error = None
    house.clock.now += 2.5
    assert await house.find() == ["a"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (500, b"", "answered 500"),
        (404, b"{}", "answered 404"),
        (200, b"<html>", "no JSON object"),
        (200, b"[]", "no JSON object"),
        (200, b"{}", "no JWK set"),
        (200, b'{"keys": "a"}', "no JWK set"),
    ],
)
async def test_what_is_no_key_set_is_no_key_set(status: int, body: bytes, said: str) -> None:
    house = House()
    house.issuer.status, house.issuer.body = status, body
    with pytest.raises(VerifierUnavailable, match=said):
        await house.find()


async def test_a_key_whose_numbers_make_none_does_not_spoil_the_others() -> None:
    house = House()
    spoilt = {**elliptic("b").jwk, "x": "A" * 43}
    house.issuer.body = str({"keys": [spoilt, elliptic("a").jwk]}).replace("'", '"').encode()
    assert await house.find("a") == ["a"]
    assert await house.find("b") == []


async def test_closing_breaks_off_a_fetch() -> None:
    house = House("a")
    house.issuer.may_answer = asyncio.Event()
    waiting = asyncio.create_task(house.find())
    await house.settle()
    await house.keys.aclose()
    with pytest.raises(VerifierUnavailable, match="closing"):
        await waiting


async def test_a_request_that_is_cancelled_leaves_the_fetch_to_the_others() -> None:
    house = House("a")
    house.issuer.may_answer = asyncio.Event()
    first, second = asyncio.create_task(house.find()), asyncio.create_task(house.find())
    await house.settle()
    first.cancel()
    house.issuer.may_answer.set()
    assert await second == ["a"]
    assert house.issuer.asked == 1


async def test_keys_that_are_given_are_never_fetched() -> None:
    keys = GivenKeys([elliptic("a").jwk, rsa("b").private_jwk])
    assert [key.kid for key in await keys.find("a", "ES256")] == ["a"]
    (found,) = await keys.find(None, "RS256")
    assert "d" not in found.jwk
    assert await keys.find("c", "ES256") == ()
    assert repr(found) == "ImportedKey(None)"
    await keys.aclose()


@pytest.mark.parametrize("keys", [[], [{"kty": "oct", "k": "c2VjcmV0"}], [{"kty": "RSA"}]])
def test_keys_that_verify_nothing_are_refused(keys: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="none of the keys"):
        GivenKeys(keys)
