"""Authorization between Wigwag and the SDKs of others, with an authorization server of others.

Users are played by `peers/login.py` and its counterpart for Node, which follow pages and forms.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.interop import catalogue, oidc, services
from tests.interop.catalogue import SDKS, Peer
from tests.interop.oidc import AuthorizationServer
from tests.interop.our_client import text_of
from tests.interop.peers import login
from wigwag import Client, MemoryTokenStore, OAuth
from wigwag.oauth.steps import AskUser

pytestmark = pytest.mark.anyio

CLIENT_SECONDS: Final = 90
WITH_LOGIN: Final = [peer for peer in SDKS if peer.name != "tsv1"]
PROTECTED: Final = [peer for peer in SDKS if peer.name in ("mcp2", "fastmcp4", "tsv2")]


@pytest.fixture(scope="module")
def authorization_server() -> Iterator[AuthorizationServer]:
    """Where all of them get their tokens."""
    with oidc.running() as server:
        yield server


@pytest.fixture(scope="module")
def our_url(authorization_server: AuthorizationServer) -> Iterator[str]:
    """Our server, which wants tokens."""
    program = str(catalogue.PEERS / "wigwag_protected_server.py")
    command = [sys.executable, program, authorization_server.issuer]
    with services.ending_well(command) as (_, url):
        yield url


def report_of(peer: Peer, url: str, *words: str) -> dict[str, Any]:
    """Runs the client of a peer; returns what it says came of it."""
    done = subprocess.run(
        peer.login_client(url, *words),
        capture_output=True,
        text=True,
        timeout=CLIENT_SECONDS,
        env={**os.environ, **peer.environ},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.parametrize("peer", WITH_LOGIN, ids=lambda peer: peer.name)
def test_a_client_of_others_logs_in_and_steps_up_at_our_server(peer: Peer, our_url: str) -> None:
    report = report_of(peer, our_url, "write")
    before, after = report["whoami"], report["whoami again"]
    assert (before["subject"], before["scopes"]) == ("ada", ["notes:read"])
    assert report["write"] == "written"
    assert after == {**before, "scopes": ["notes:read", "notes:write"]}


def test_a_client_of_others_binds_its_tokens_to_a_key_for_our_server(
    authorization_server: AuthorizationServer,
) -> None:
    [peer] = [each for each in WITH_LOGIN if each.name == "tsv2"]
    program = str(catalogue.PEERS / "wigwag_protected_server.py")
    options = json.dumps({"dpop": "required"})
    command = [sys.executable, program, authorization_server.issuer, options]
    with services.ending_well(command) as (_, url):
        report = report_of(peer, url, "dpop")
    assert (report["whoami"]["subject"], report["scheme"]) == ("ada", "DPoP")


class Following:
    """A login without a browser."""

    async def listen(self, registered: tuple[str, ...]) -> str:
        return registered[0] if registered else "http://127.0.0.1:33418/callback"

    async def ask(self, question: AskUser) -> str:
        return await asyncio.to_thread(login.log_in, question.url)

    async def aclose(self) -> None:
        pass


@pytest.fixture(scope="module", params=PROTECTED, ids=lambda peer: peer.name)
def their_url(
    request: pytest.FixtureRequest, authorization_server: AuthorizationServer
) -> Iterator[str]:
    """A server of others, which wants tokens."""
    command = request.param.protected_server(authorization_server.issuer)
    with services.running(command, request.param.environ) as (_, url):
        yield url


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_our_client_logs_in_at_a_server_of_others(their_url: str, mode: str) -> None:
    auth = OAuth(login=Following, store=MemoryTokenStore())
    async with asyncio.timeout(CLIENT_SECONDS), Client(their_url, auth=auth, mode=mode) as client:
        caller = json.loads(text_of(await client.call_tool("whoami")))
    assert (caller["subject"], caller["scopes"]) == ("ada", ["notes:read"])
