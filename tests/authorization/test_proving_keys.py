"""Tokens that are bound to a key of the client: `OAuth(dpop=True)`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.interaction.connecting import TIMEOUTS
from wigwag import Client, FileTokenStore, MemoryTokenStore, OAuth
from wigwag.schema import LATEST_LEGACY
from wigwag.stores.contract import TokenStore

pytestmark = pytest.mark.anyio


@pytest.fixture
async def issuer() -> AsyncIterator[AuthorizationServer]:
    """One that knows of proofs."""
    async with AuthorizationServer() as server:
        server.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
        yield server


def client_of(guarded: GuardedUrl, logins: Logins, store: TokenStore) -> Client:
    auth = OAuth(login=logins, store=store, dpop=True)
    return Client(guarded.url, auth=auth, timeouts=TIMEOUTS, era_cache={})


def unique(proofs: list[dict[str, Any]]) -> bool:
    return len({proof["jti"] for proof in proofs}) == len(proofs) > 0


async def test_every_request_comes_with_a_proof_of_its_own(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with client_of(guarded, logins, store) as client:
        for _ in range(2):
            await client.call_tool("tool")

    assert unique([*issuer.proofs, *guarded.proofs])
    assert {(proof["htm"], proof["htu"]) for proof in guarded.proofs} == {("POST", guarded.url)}
    assert all("ath" in proof for proof in guarded.proofs)
    assert issuer.proofs[0]["htu"] == f"{issuer.issuer}/token"
    headers = [request.headers["authorization"] for request in guarded.asked("tools/call")]
    assert {header.partition(" ")[0] for header in headers} == {"DPoP"}


async def test_nonces_are_taken_up_wherever_they_are_wanted(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.nonce = "of-the-issuer"
    guarded.nonce = "first"
    async with client_of(guarded, logins, store) as client:
        await client.call_tool("tool")
        guarded.nonce = "second"
        await client.call_tool("tool")

    assert [proof.get("nonce") for proof in issuer.proofs] == [None, "of-the-issuer"]
    # The server asks once for each; after that it is told the one that it wants.
    assert [proof.get("nonce") for proof in guarded.proofs] == ["first"] * 3 + ["second"]
    assert len(logins.asked) == 1


async def test_a_server_that_wants_another_nonce_each_time_is_not_asked_for_ever(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    refuse = guarded._refusal

    def refuse_always(request: Any) -> tuple[int, str] | None:
        guarded.nonce = f"nonce-{guarded.refusals}"
        return refuse(request)

    guarded._refusal = refuse_always  # type: ignore[method-assign]
    with pytest.raises(Exception, match="does not accept the token that was just issued"):
        await client_of(guarded, logins, store).connect()
    assert len(logins.asked) == 1


async def test_the_key_is_kept_with_the_tokens(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, tmp_path: Path
) -> None:
    keys = set()
    for _ in range(2):
        store = FileTokenStore(tmp_path)
        async with client_of(guarded, logins, store) as client:
            await client.call_tool("tool")
        keys |= {await store.load(key) for key in await store.keys() if key.startswith("key ")}

    assert len(keys) == 1
    assert len(logins.asked) == 1


async def test_an_issuer_that_knows_no_proofs_gives_plain_tokens(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.metadata.clear()
    async with client_of(guarded, logins, store) as client:
        await client.call_tool("tool")
    assert issuer.proofs == guarded.proofs == []


async def test_the_end_of_a_session_is_proven_too(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async with GuardedUrl(issuer, LATEST_LEGACY, session="s") as guarded:
        async with client_of(guarded, logins, store):
            pass
        assert guarded.sessions == []
        assert guarded.proofs[-1]["htm"] == "DELETE"
