"""Our client and our server with a real authorization server, and a user in a real browser."""

import asyncio
import json
import logging
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from joserfc.jwk import ECKey

from tests.interop import catalogue, chromium, oidc, services
from tests.interop.desk import Desk
from tests.interop.oidc import AuthorizationServer
from tests.interop.our_client import text_of
from wigwag import Client, ClientCredentials, log_out

pytestmark = pytest.mark.anyio

needs_browser = pytest.mark.skipif(
    catalogue.chromium()[0] is None,
    reason="there is no Chromium: install it, or let tests/interop/setup.py unpack Debian's",
)

CLIENT_SECONDS: Final = 60
# Tokens that end so soon are renewed each time that a program begins to use them.
SHORT: Final = 20
SECRET: Final = "a secret of the machine"
INTROSPECTION: Final = {"client_id": "resource-server", "client_secret": "secret of a server"}
DOCUMENT: Final[dict[str, Any]] = {
    "client_id": "https://client.example/wigwag.json",
    "client_name": "A client with a document",
    "application_type": "native",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}

Arrangement = tuple[AuthorizationServer, str]
Arrange = Callable[..., Arrangement]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A browser for all the users."""
    with chromium.running(tmp_path_factory.mktemp("chromium")) as url:
        yield url


@pytest.fixture
async def ada(browser: str, tmp_path: Path) -> AsyncIterator[Desk]:
    """A user who has never logged in, at a machine where nothing is kept."""
    async with (
        chromium.used_by("ada", browser) as user,
        Desk(user, tmp_path / "kept").occupied() as desk,
    ):
        yield desk


@contextmanager
def arranged(protection: Mapping[str, Any] | None = None, **settings: Any) -> Iterator[Arrangement]:
    """Runs an authorization server with some settings, and our server that wants its tokens."""
    program = str(catalogue.PEERS / "wigwag_protected_server.py")
    with oidc.running(**settings) as issuer:
        command = [sys.executable, program, issuer.issuer, json.dumps(protection or {})]
        with services.ending_well(command) as (_, url):
            yield issuer, url


@pytest.fixture
def arrange() -> Iterator[Callable[..., Arrangement]]:
    """Runs them for one test."""
    with ExitStack() as stack:
        yield lambda *args, **settings: stack.enter_context(arranged(*args, **settings))


@pytest.fixture(scope="module")
def tests_share_lasting() -> Iterator[Arrangement]:
    """Runs them for many; tokens are good for as long as these take."""
    with arranged(documents={DOCUMENT["client_id"]: DOCUMENT}) as found:
        yield found


@pytest.fixture(scope="module")
def tests_share_short() -> Iterator[Arrangement]:
    """Runs them for many; tokens are renewed each time that a client begins to use them."""
    with arranged(ttl=SHORT) as found:
        yield found


@pytest.fixture
def lasting(tests_share_lasting: Arrangement) -> Arrangement:
    """One that has seen nothing, with tokens that last."""
    tests_share_lasting[0].forget_seen()
    return tests_share_lasting


@pytest.fixture
def short(tests_share_short: Arrangement) -> Arrangement:
    """One that has seen nothing, with tokens that end soon."""
    tests_share_short[0].forget_seen()
    return tests_share_short


# --- a user


@needs_browser
async def test_a_user_logs_in_once_in_the_browser(ada: Desk, lasting: Arrangement) -> None:
    issuer, url = lasting
    report = await ada.run(url)
    assert (report["whoami"]["subject"], report["whoami"]["scopes"]) == ("ada", ["notes:read"])
    [[login, consent, end]] = ada.visits
    assert "Sign-in" in login
    assert url in consent
    assert "notes:read" in consent
    assert "The log-in is complete" in end
    assert await ada.run(url) == report
    assert len(ada.visits) == 1
    assert issuer.grants() == ["authorization_code"]


@needs_browser
async def test_tokens_are_renewed_and_rotated_without_the_user(
    ada: Desk, short: Arrangement
) -> None:
    issuer, url = short
    reports = [await ada.use(url) for _ in range(3)]
    assert reports[0] == reports[1] == reports[2]
    assert len(ada.visits) == 1
    assert issuer.grants() == ["authorization_code", "refresh_token", "refresh_token"]


@needs_browser
async def test_programs_that_renew_the_same_tokens_at_once_do_not_lose_them(
    ada: Desk, short: Arrangement
) -> None:
    issuer, url = short
    report = await ada.use(url)
    # Whoever used a refresh token that was used already would end the login for all.
    assert await asyncio.gather(*(ada.run(url) for _ in range(2))) == [report] * 2
    assert await ada.use(url) == report
    assert len(ada.visits) == 1
    assert set(issuer.grants()) == {"authorization_code", "refresh_token"}


@needs_browser
async def test_when_the_login_was_revoked_the_user_is_asked_again(
    ada: Desk, short: Arrangement
) -> None:
    issuer, url = short
    report = await ada.use(url)
    issuer.revoke_all()
    assert await ada.use(url) == report
    assert len(ada.visits) == 2
    assert len(issuer.seen("registration")) == 1
    assert issuer.grants() == [
        "authorization_code",
        "refresh_token invalid_grant",
        "authorization_code",
    ]


@needs_browser
async def test_a_token_that_says_nothing_is_looked_up_and_can_be_revoked(
    ada: Desk, arrange: Arrange
) -> None:
    introspecting: dict[str, list[str]] = {
        "grant_types": [],
        "redirect_uris": [],
        "response_types": [],
    }
    issuer, url = arrange(
        {"introspection": {**INTROSPECTION, "kept_for": 0}},
        opaque=True,
        clients=[{**INTROSPECTION, **introspecting}],
    )
    report = await ada.use(url)
    assert report["whoami"]["subject"] == "ada"
    assert {each["status"] for each in issuer.seen("introspection")} == {200}
    issuer.revoke_all()
    assert await ada.use(url) == report
    assert len(ada.visits) == 2


@needs_browser
@pytest.mark.parametrize(
    ("registering", "registrations"),
    [("free", [201]), ("bound", [201, 201]), ("strict", [400, 201])],
)
async def test_the_user_is_asked_for_more_when_more_is_needed(
    ada: Desk,
    arrange: Arrange,
    registering: str,
    registrations: list[int],
) -> None:
    issuer, url = arrange(registering=registering)
    report = await ada.use(url, "write")
    assert report["whoami"]["scopes"] == ["notes:read"]
    assert report["write"] == "written"
    assert report["whoami again"]["scopes"] == ["notes:read", "notes:write"]
    # Where a client may ask only for what it registered for, it is sent back at first.
    first, *_, last = ada.visits
    assert "notes:write" not in "".join(first)
    assert "notes:write" in "".join(last)
    assert [each["status"] for each in issuer.seen("registration")] == registrations


@needs_browser
async def test_a_token_is_bound_to_the_key_of_the_client(ada: Desk, arrange: Arrange) -> None:
    issuer, url = arrange({"dpop": "required"}, nonces=True, ttl=SHORT)
    report = await ada.use(url, dpop=True)
    assert report["whoami"]["subject"] == "ada"
    assert await ada.use(url, dpop=True) == report
    assert len(ada.visits) == 1
    # Each is asked for a nonce, and is made again with it.
    assert issuer.grants() == [
        "authorization_code use_dpop_nonce",
        "authorization_code",
        "refresh_token use_dpop_nonce",
        "refresh_token",
    ]


@needs_browser
async def test_a_client_is_known_by_its_document(ada: Desk, lasting: Arrangement) -> None:
    issuer, url = lasting
    report = await ada.use(url, client_metadata_url=DOCUMENT["client_id"])
    assert report["whoami"]["client"] == DOCUMENT["client_id"]
    assert issuer.seen("registration") == []


@needs_browser
async def test_who_logs_out_is_asked_again(ada: Desk, lasting: Arrangement) -> None:
    issuer, url = lasting
    await ada.use(url)
    await log_out(url, ada.auth())
    # The access token is a JWT, which it cannot revoke, and ends by itself.
    told = [(each["status"], each.get("error")) for each in issuer.seen("revocation")]
    assert sorted(told) == [(200, None), (400, "unsupported_token_type")]
    await ada.use(url)
    assert len(ada.visits) == 2
    assert len(issuer.seen("registration")) == 1


@needs_browser
async def test_a_user_may_say_no(ada: Desk, lasting: Arrangement) -> None:
    ada.user.refuses = True
    issuer, url = lasting
    report = await ada.use(url)
    assert report["error"] == "AuthorizationRefused"
    assert "access_denied" in report["message"]
    assert issuer.grants() == []


@needs_browser
async def test_nothing_that_is_kept_is_in_the_log(
    ada: Desk, short: Arrangement, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    _, url = short
    secrets: set[str] = set()
    for _ in range(2):
        await ada.use(url)
        secrets |= await ada.secrets()
    assert len(secrets) == 4, "two access tokens, and two refresh tokens"
    assert "notes:read" in caplog.text
    assert not [each for each in secrets if each in caplog.text]


# --- machines


@pytest.fixture(scope="module")
def key() -> ECKey:
    """The key of a machine."""
    return ECKey.generate_key("P-256", private=True)


@pytest.fixture(scope="module")
def machines(key: ECKey) -> Iterator[Arrangement]:
    """An authorization server that knows machines, named after how they authenticate."""
    known: dict[str, dict[str, Any]] = {
        "client_secret_basic": {"client_secret": SECRET},
        "client_secret_post": {"client_secret": SECRET},
        "private_key_jwt": {"jwks": {"keys": [key.as_dict(private=False)]}},
    }
    clients = [
        {
            "client_id": method,
            "grant_types": ["client_credentials"],
            "redirect_uris": [],
            "response_types": [],
            "token_endpoint_auth_method": method,
            **proof,
        }
        for method, proof in known.items()
    ]
    with arranged(clients=clients, nonces=True) as found:
        yield found


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "private_key_jwt"])
@pytest.mark.parametrize("scheme", ["Bearer", "DPoP"])
async def test_a_machine_authorizes_itself(
    scheme: str, method: str, key: ECKey, machines: Arrangement
) -> None:
    issuer, url = machines
    issuer.forget_seen()
    signs = method == "private_key_jwt"
    auth = ClientCredentials(
        method,
        client_secret=None if signs else SECRET,
        key=key.as_pem(private=True).decode() if signs else None,
        dpop=scheme == "DPoP",
    )
    async with asyncio.timeout(CLIENT_SECONDS), Client(url, auth=auth) as client:
        caller = json.loads(text_of(await client.call_tool("whoami")))
        assert text_of(await client.call_tool("write")) == "written"
    assert (caller["client"], caller["scopes"]) == (method, ["notes:read"])
    assert caller["is_bound"] == (scheme == "DPoP")
    granted = [each for each in issuer.grants() if "nonce" not in each]
    assert granted == ["client_credentials"] * 2


# --- what is not let in


def test_a_token_for_somebody_else_is_refused(
    machines: Arrangement,
) -> None:
    issuer, url = machines
    assert status_with(token_for(issuer, url), url) != 401
    for other in (f"{url}/more", url.removesuffix("/mcp"), "https://elsewhere.example/mcp"):
        assert status_with(token_for(issuer, other), url) == 401


def token_for(issuer: AuthorizationServer, resource: str) -> str:
    """A token of the machine for some resource."""
    form = {
        "grant_type": "client_credentials",
        "client_id": "client_secret_post",
        "client_secret": SECRET,
        "scope": "notes:read",
        "resource": resource,
    }
    body = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"{issuer.issuer}/token", body, CLIENT_SECONDS) as answer:
        token: str = json.load(answer)["access_token"]
    return token


def status_with(token: str, url: str) -> int:
    """What a server answers to a ping with a token."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=CLIENT_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code
