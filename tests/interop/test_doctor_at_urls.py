"""What the doctor finds at URLs of others: servers of each SDK, and a real nginx in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import pytest

from tests.interop import catalogue, nginx, oidc, services
from wigwag.doctor.findings import Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.urls import check_url

pytestmark = pytest.mark.anyio

PATIENCE: Final = Patience(answer=30.0, slow_start=25.0, idle=0.2)
# For what does not come.
UNHEARD: Final = Patience(answer=30.0, slow_start=25.0, event=4.0, idle=0.2)
HOST: Final = "proxy_set_header Host $http_host;"
COMPRESSED: Final = f"{HOST} gzip on; gzip_types *; gzip_proxied any; gzip_min_length 0;"

Before = Callable[..., AbstractContextManager[str]]

needs_nginx = pytest.mark.skipif(
    catalogue.nginx() is None,
    reason="there is no nginx: install it, or let tests/interop/setup.py unpack Debian's",
)
PROTECTED: Final = [each for each in catalogue.SDKS if each.name in ("mcp2", "fastmcp4", "tsv2")]
MCP1: Final = next(peer for peer in catalogue.SDKS if peer.name == "mcp1")


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Where tokens come from."""
    with oidc.running() as server:
        yield server.issuer


@pytest.fixture
def before(tmp_path: Path) -> Before:
    """Runs nginx before some URLs."""

    def start(urls: list[str], settings: str = HOST, **options: Any) -> Any:
        return nginx.before(urls, tmp_path, settings=settings, **options)

    return start


def mcp1(kind: str = "plain") -> AbstractContextManager[tuple[services.Service, str]]:
    return services.running(MCP1.http_server(kind), MCP1.environ)


async def faults(url: str, **options: Any) -> list[str]:
    return [each.code for each in await examine(url, **options) if each.is_fault]


async def examine(url: str, *, patience: Patience = PATIENCE, **options: Any) -> list[Finding]:
    checking = check_url(url, patience=patience, facts={}, **options)
    return [finding async for finding in checking]


@pytest.mark.parametrize("peer", catalogue.SDKS, ids=lambda peer: str(peer.name))
async def test_servers_of_others_have_no_fault(peer: catalogue.Peer) -> None:
    with services.running(peer.http_server("plain"), peer.environ) as (_, url):
        assert await faults(url) == []


async def test_a_server_of_the_old_transport_is_told_to_be_one() -> None:
    with mcp1("sse") as (_, url):
        assert await faults(url) == ["http-sse-only"]
        assert await faults(url.replace("/sse", "/mcp")) == ["wrong-path"]


@pytest.mark.parametrize("peer", PROTECTED, ids=lambda peer: str(peer.name))
async def test_the_way_to_a_token_is_sound_where_servers_of_others_want_one(
    peer: catalogue.Peer, issuer: str
) -> None:
    with services.running(peer.protected_server(issuer), peer.environ) as (_, url):
        assert [finding.code for finding in await examine(url)] == ["token-wanted"]


@needs_nginx
async def test_nothing_is_wrong_behind_an_nginx_that_passes_the_name_on(before: Before) -> None:
    call = ("slow", {"seconds": 0.5, "steps": 3})
    with services.ours() as url, before([url]) as proxy:
        assert await faults(f"{proxy}/mcp", call=call) == []


@needs_nginx
async def test_an_nginx_that_changes_the_name_gets_its_server_to_refuse(before: Before) -> None:
    with mcp1() as (_, url), before([url], "") as proxy:
        [finding] = await examine(f"{proxy}/mcp")
    assert finding.code == "host-refused"
    assert "TransportSecuritySettings" in finding.change
    assert "proxy_set_header Host" in finding.change


@needs_nginx
async def test_workers_behind_an_nginx_do_not_know_each_others_sessions(before: Before) -> None:
    with mcp1() as (_, one), mcp1() as (_, two), before([one, two]) as proxy:
        assert await faults(f"{proxy}/mcp") == ["session-not-shared"]


@needs_nginx
async def test_streams_that_an_nginx_compresses_come_late(before: Before) -> None:
    settings = f"{COMPRESSED} proxy_ignore_headers X-Accel-Buffering;"
    call = ("slow", {"seconds": 0.5, "steps": 3})
    with services.ours() as url, before([url], settings) as proxy:
        found = await faults(f"{proxy}/mcp", patience=UNHEARD, call=call)
    assert set(found) == {"stream-held-back", "progress-in-one-lump"}


@needs_nginx
async def test_headers_that_an_nginx_drops_are_missed(before: Before) -> None:
    dropped = "proxy_set_header Mcp-Method ''; proxy_set_header Mcp-Session-Id '';"
    with services.ours() as url, before([url], f"{HOST} {dropped}") as proxy:
        assert await faults(f"{proxy}/mcp") == ["session-id-lost", "headers-lost"]


@needs_nginx
async def test_an_nginx_cuts_what_is_silent_longer_than_it_waits(before: Before) -> None:
    patience = Patience(answer=30.0, slow_start=25.0, idle=20.0)
    with services.ours() as url, before([url], f"{HOST} proxy_read_timeout 1s;") as proxy:
        assert set(await faults(f"{proxy}/mcp", patience=patience)) == {"stream-cut"}


@needs_nginx
async def test_an_endpoint_that_lost_its_prefix_is_found(before: Before) -> None:
    with (
        mcp1("sse") as (_, url),
        before([url], HOST, location="/desk/", target="http://wigwag/") as proxy,
    ):
        assert await faults(f"{proxy}/desk/sse") == ["endpoint-refuses"]


@needs_nginx
async def test_an_nginx_without_a_server_behind_it_says_so(before: Before) -> None:
    [free] = services.free_ports(1)
    with before([f"http://127.0.0.1:{free}"]) as proxy:
        assert await faults(f"{proxy}/mcp") == ["gateway-error"]
