import json

import msgspec
import pytest

from tests.unit.oauth.world import World
from wigwag.oauth import storage
from wigwag.oauth.metadata import AuthorizationServer
from wigwag.oauth.secret import Secret
from wigwag.oauth.storage import KnownServer, Registration, Tokens
from wigwag.oauth.urls import read_url

SERVER = read_url("https://mcp.example/mcp/?key=hidden")
TOKENS = Tokens(
    issuer="https://as.example",
    resource="https://mcp.example/mcp",
    client_id="me",
    access_token=Secret("access"),
    token_type="DPoP",
    expires_at=1234.5,
    refresh_token=Secret("refresh"),
    scopes=("a",),
    requested_scopes=("a", "b"),
)
REGISTRATION = Registration(
    issuer="https://as.example",
    kind="dynamic",
    client_id="me",
    client_secret=Secret("hush"),
    client_secret_expires_at=99.0,
    token_endpoint_auth_method="client_secret_post",
    redirect_uris=("http://127.0.0.1:1/callback",),
    scopes=("a",),
)
KNOWN = KnownServer(
    resource="https://mcp.example/mcp",
    authorization_server=AuthorizationServer(
        issuer="https://as.example", token_endpoint="https://as.example/token"
    ),
    client_id="me",
)


def test_all_that_is_kept_comes_back_as_it_was() -> None:
    world = World()
    world.run(storage.keep_tokens(TOKENS))
    world.run(storage.keep_registration(REGISTRATION))
    world.run(storage.keep_known_server(SERVER, KNOWN))
    assert world.run(storage.load_tokens(TOKENS.issuer, TOKENS.resource)) == TOKENS
    assert world.run(storage.load_registration(REGISTRATION.issuer)) == REGISTRATION
    assert world.run(storage.load_known_server(SERVER)) == KNOWN
    assert sorted(world.store) == [
        "client https://as.example me",
        "registration https://as.example",
        "server https://mcp.example/mcp",
        "tokens https://as.example https://mcp.example/mcp",
    ]
    assert json.loads(world.store["registration https://as.example"])["client_secret"] == "hush"
    assert b"hidden" not in b"".join(world.store.values()) + "".join(world.store).encode()


def test_nothing_of_it_shows_a_secret() -> None:
    shown = repr([TOKENS, REGISTRATION])
    assert [word for word in ("access'", "refresh'", "hush") if word in shown] == []


def test_what_is_forgotten_is_gone_and_the_rest_stays() -> None:
    world = World()
    world.run(storage.keep_tokens(TOKENS))
    world.run(storage.keep_registration(REGISTRATION))
    world.run(storage.forget_tokens(TOKENS.issuer, TOKENS.resource))
    assert sorted(world.store) == [
        "client https://as.example me",
        "registration https://as.example",
    ]
    world.run(storage.forget_registration(REGISTRATION.issuer, "me"))
    assert world.store == {}


def test_an_earlier_registration_is_found_by_its_client_and_forgotten_alone() -> None:
    world = World()
    later = msgspec.structs.replace(REGISTRATION, client_id="later")
    issuer = REGISTRATION.issuer
    for registration in (REGISTRATION, later):
        world.run(storage.keep_registration(registration))
    assert world.run(storage.load_registration(issuer)) == later
    assert world.run(storage.load_registration(issuer, "me")) == REGISTRATION
    world.run(storage.forget_registration(issuer, "me"))
    assert world.run(storage.load_registration(issuer, "me")) is None
    assert world.run(storage.load_registration(issuer)) == later
    world.run(storage.forget_registration(issuer))
    assert world.run(storage.load_registration(issuer)) is None
    assert world.run(storage.load_registration(issuer, "later")) == later


def test_what_belongs_to_another_issuer_is_not_returned() -> None:
    world = World()
    world.run(storage.keep_tokens(TOKENS))
    world.run(storage.keep_registration(REGISTRATION))
    (client, registration, tokens) = sorted(world.store)
    world.store["client https://evil.example me"] = world.store[client]
    world.store["client https://as.example you"] = world.store[client]
    world.store["registration https://evil.example"] = world.store[registration]
    world.store["tokens https://evil.example r"] = world.store[tokens]
    assert world.run(storage.load_registration("https://evil.example")) is None
    assert world.run(storage.load_registration("https://evil.example", "me")) is None
    assert world.run(storage.load_registration("https://as.example", "you")) is None
    assert world.run(storage.load_tokens("https://evil.example", "r")) is None


@pytest.mark.parametrize("junk", [b"", b"null", b"[1]", b'{"access_token":7}', b"\x00\xff"])
def test_what_cannot_be_read_counts_as_nothing(junk: bytes) -> None:
    world = World()
    world.store["tokens i r"] = junk
    assert world.run(storage.load_tokens("i", "r")) is None


def test_a_token_is_fresh_until_a_little_before_it_expires() -> None:
    assert TOKENS.is_fresh(1204.0)
    assert not TOKENS.is_fresh(1204.5)
    assert not TOKENS.has_expired(1234.0)
    assert TOKENS.has_expired(1234.5)


def test_a_token_without_a_lifetime_is_fresh_until_it_is_refused() -> None:
    endless = Tokens(issuer="i", resource="r", client_id="c", access_token=Secret("a"))
    assert endless.is_fresh(1e12)
    assert not endless.has_expired(1e12)


def test_a_client_secret_may_expire() -> None:
    assert not REGISTRATION.has_expired(98.9)
    assert REGISTRATION.has_expired(99.0)
    assert not Registration(issuer="i", kind="dynamic", client_id="c").has_expired(1e12)
