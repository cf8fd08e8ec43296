"""Wigwag behind a real nginx: replicas, buffering, idle streams, prefixes, TLS, limits."""

import asyncio
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import pytest
import trustme

from tests.interop import catalogue, conversation, nginx, services
from tests.interop.our_client import text_of
from wigwag import Client
from wigwag.errors import HttpStatusError, RequestTimedOut
from wigwag.oauth.challenges import demand_of, parse_challenges
from wigwag.schema import LEGACY_REVISIONS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        catalogue.nginx() is None,
        reason="there is no nginx: install it, or let tests/interop/setup.py unpack Debian's",
    ),
]

TEST_SECONDS: Final = 30
HOST: Final = "proxy_set_header Host $http_host;"
"""What nginx leaves out by itself; without it the server takes itself for `wigwag`."""
FORWARDED: Final = (
    "proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;"
)
COMPRESSED: Final = f"{HOST} gzip on; gzip_types *; gzip_proxied any; gzip_min_length 0;"

Replicas = Callable[..., list[str]]


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    """Starts servers that stand in for each other; gives their URLs."""
    with ExitStack() as stack:

        def start(*names: str, **options: Any) -> list[str]:
            program = str(catalogue.PEERS / "replica_server.py")
            commands = [[*catalogue.OURS[:1], program, name, json.dumps(options)] for name in names]
            return [stack.enter_context(services.ending_well(each))[1] for each in commands]

        yield start


@pytest.fixture
def before(tmp_path: Path) -> Callable[..., AbstractContextManager[str]]:
    """Runs nginx before some URLs."""

    def start(urls: list[str], **options: Any) -> AbstractContextManager[str]:
        options.setdefault("settings", HOST)
        return nginx.before(urls, tmp_path, **options)

    return start


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncIterator[Client]:
    """Our client, within bounds."""
    async with asyncio.timeout(TEST_SECONDS), Client(url, **options) as client:
        yield client


async def ask_where(client: Client) -> dict[str, Any]:
    """What the server knows of the call."""
    known: dict[str, Any] = json.loads(text_of(await client.call_tool("where")))
    return known


# --- replicas that take turns


async def test_modern_calls_are_served_by_replicas_in_turn(replicas: Any, before: Any) -> None:
    with before(replicas("a", "b", "c")) as url:
        async with connected(f"{url}/mcp") as client:
            assert client.protocol_version == "2026-07-28"
            seen = Counter([(await ask_where(client))["replica"] for _ in range(9)])
            together = await asyncio.gather(*(ask_where(client) for _ in range(9)))
    assert seen == {"a": 3, "b": 3, "c": 3}
    assert Counter(each["replica"] for each in together) == seen


async def test_a_call_that_asks_goes_on_in_whichever_replica_the_answer_comes_to(
    replicas: Any, before: Any
) -> None:
    names = iter(["Ada", "Lovelace"])
    with before(replicas("a", "b", "c")) as url:
        async with connected(
            f"{url}/mcp", elicitation=lambda _: {"name": next(names)}, mode="modern"
        ) as client:
            result = await client.call_tool("ask")
    assert text_of(result) == "Ada Lovelace"


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26"])
async def test_legacy_calls_are_served_in_turn_where_there_are_no_sessions(
    replicas: Any, before: Any, revision: str
) -> None:
    with before(replicas("a", "b", "c", sessions=False)) as url:
        async with connected(f"{url}/mcp", mode=revision) as client:
            assert client.protocol_version == revision
            seen = Counter([(await ask_where(client))["replica"] for _ in range(9)])
    assert seen == {"a": 3, "b": 3, "c": 3}


async def test_a_replica_that_is_gone_is_passed_over(replicas: Any, before: Any) -> None:
    urls = replicas("a", "b")
    [free] = services.free_ports(1)
    with before([*urls, f"http://127.0.0.1:{free}/mcp"]) as url:
        async with connected(f"{url}/mcp") as client:
            seen = {(await ask_where(client))["replica"] for _ in range(4)}
    assert seen == {"a", "b"}


# --- buffering, which is on unless switched off


@pytest.mark.parametrize("settings", [HOST, COMPRESSED], ids=["plain", "compressed"])
@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_progress_is_not_kept_back(
    replicas: Any, before: Any, mode: str, settings: str
) -> None:
    with before(replicas("a"), settings=settings) as url:
        async with connected(f"{url}/mcp", mode=mode) as client:
            assert await wait_for_progress(client) == "released"


async def test_progress_would_be_kept_back_but_for_the_header(replicas: Any, before: Any) -> None:
    settings = f"{COMPRESSED} proxy_ignore_headers X-Accel-Buffering;"
    with before(replicas("a"), settings=settings) as url:
        async with connected(f"{url}/mcp", mode="modern") as client:
            with pytest.raises(RequestTimedOut):
                await wait_for_progress(client, within=1)


async def wait_for_progress(client: Client, *, within: float | None = None) -> str:
    """Calls a tool that ends only after its progress was seen."""
    waiting = asyncio.Event()
    call = asyncio.ensure_future(
        client.call_tool("wait", on_progress=lambda _: waiting.set(), timeout=within)
    )
    seen = asyncio.ensure_future(waiting.wait())
    await asyncio.wait([call, seen], return_when=asyncio.FIRST_COMPLETED)
    seen.cancel()
    if waiting.is_set():
        await client.call_tool("release")
    return text_of(await call)


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_news_are_not_kept_back(replicas: Any, before: Any, mode: str) -> None:
    with before(replicas("a")) as url:
        async with (
            connected(f"{url}/mcp", mode=mode) as client,
            client.listen(tools=True) as changes,
        ):
            await client.call_tool("grow")
            change = await anext(changes)
            assert change.method == "notifications/tools/list_changed"


async def test_http_sse_is_not_kept_back(replicas: Any, before: Any) -> None:
    with before(replicas("a", sse=True)) as url:
        async with connected(f"{url}/sse") as client:
            assert client.protocol_version in LEGACY_REVISIONS
            assert await wait_for_progress(client) == "released"


# --- streams on which nothing happens


async def test_a_stream_with_comments_outlives_the_time_that_nginx_waits(
    replicas: Any, before: Any, tmp_path: Path
) -> None:
    settings = f"{HOST} proxy_read_timeout 1s;"
    (tmp_path / "other").mkdir()
    with (
        before(replicas("talks", keep_alive=0.2), settings=settings) as talking,
        nginx.before(
            replicas("silent", keep_alive=60), tmp_path / "other", settings=settings
        ) as silent,
        services.tapped(tmp_path / "tap", f"{talking}/mcp") as url,
    ):
        async with connected(url, mode="modern") as client, client.listen(tools=True) as changes:
            # The silent one is cut, after longer than the other has been listened to.
            await until_cut(f"{silent}/mcp")
            await client.call_tool("grow")
            assert (await anext(changes)).method == "notifications/tools/list_changed"
    [messages] = conversation.read(tmp_path / "tap")
    assert [r.method for r in messages].count("subscriptions/listen") == 1


async def until_cut(url: str) -> None:
    """Listens by hand, until somebody else ends it."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscriptions/listen",
            "params": {
                "notifications": {"toolsListChanged": True},
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": conversation.MODERN,
                    "io.modelcontextprotocol/clientInfo": {"name": "hand", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        }
    )
    parts = urlsplit(url)
    head = (
        f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {len(body)}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: {conversation.MODERN}\r\nMcp-Method: subscriptions/listen\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"{head}{body}".encode())
    seen = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert b"notifications/subscriptions/acknowledged" in seen
    assert not seen.endswith(b"0\r\n\r\n")  # cut, and not ended


# --- prefixes


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_a_prefix_may_be_stripped(replicas: Any, before: Any, mode: str) -> None:
    options = {"location": "/tools/", "target": "http://wigwag/"}
    with before(replicas("a"), **options) as url:
        async with connected(f"{url}/tools/mcp", mode=mode) as client:
            assert (await ask_where(client))["path"] == "/mcp"
            assert await wait_for_progress(client) == "released"


async def test_a_prefix_may_be_stripped_from_http_sse(replicas: Any, before: Any) -> None:
    options = {"location": "/tools/", "target": "http://wigwag/"}
    with before(replicas("a", sse=True), **options) as url:
        async with connected(f"{url}/tools/sse") as client:
            assert await wait_for_progress(client) == "released"


async def test_a_prefix_may_be_replaced(replicas: Any, before: Any) -> None:
    options = {"location": "/kites", "target": "http://wigwag/mcp"}
    with before(replicas("a"), **options) as url:
        for path in ("/kites", "/kites/"):
            async with connected(f"{url}{path}") as client:
                assert (await ask_where(client))["replica"] == "a"


async def test_a_protected_server_is_found_below_a_prefix_that_is_stripped(
    replicas: Any, before: Any
) -> None:
    resource = "https://mcp.example.com/tools/mcp"
    options = {"location": "/tools/", "target": "http://wigwag/"}
    served = replicas("a", resource=resource, allowed_hosts=["mcp.example.com"])
    with before(served, **options) as url:
        with pytest.raises(HttpStatusError) as caught:
            async with connected(f"{url}/tools/mcp"):
                pass
        assert caught.value.status == 401
        challenge = parse_challenges([caught.value.headers["www-authenticate"]])
        metadata = demand_of(challenge).resource_metadata
        assert metadata is not None
        where = f"{url}{urlsplit(metadata).path}"
        async with aiohttp.ClientSession() as session, session.get(where) as found:
            document = await found.json()
        assert document["resource"] == resource
        headers = {"Authorization": "Bearer for-ada"}
        for mode in ("modern", "legacy"):
            async with connected(f"{url}/tools/mcp", mode=mode, headers=headers) as client:
                assert (await ask_where(client))["path"] == "/mcp"


# --- TLS that ends in nginx


@pytest.fixture
def trusted(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate with its key, in one file, and what trusts it."""
    authority = trustme.CA()
    file = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return file, context


@pytest.mark.parametrize("mode", ["modern", "legacy"])
async def test_tls_may_end_in_nginx(
    replicas: Any, before: Any, trusted: tuple[Path, ssl.SSLContext], mode: str
) -> None:
    file, context = trusted
    with before(replicas("a"), tls=file, settings=f"{HOST} {FORWARDED}") as url:
        assert url.startswith("https://")
        # A page of the same site may use it, too.
        headers = {"Origin": url}
        async with connected(f"{url}/mcp", mode=mode, ssl=context, headers=headers) as client:
            assert await ask_where(client) == {
                "replica": "a",
                "client": "127.0.0.1",
                "scheme": "https",
                "path": "/mcp",
            }
            assert await wait_for_progress(client) == "released"


# --- what nginx and the server refuse


async def test_a_proxy_that_hides_the_host_is_told_so_in_the_log(before: Any) -> None:
    program = [*catalogue.OURS[:1], str(catalogue.PEERS / "replica_server.py"), "a"]
    with (
        services.ending_well(program) as (server, direct),
        before([direct], settings="") as url,
        pytest.raises(HttpStatusError) as caught,
    ):
        async with connected(f"{url}/mcp"):
            pass
    assert caught.value.status == 403
    said = "".join(server.said)
    assert "wigwag" in said
    assert "allowed_hosts" in said


async def test_the_name_that_a_proxy_uses_can_be_allowed(replicas: Any, before: Any) -> None:
    with before(replicas("a", allowed_hosts=["wigwag"]), settings="") as url:
        async with connected(f"{url}/mcp") as client:
            assert (await ask_where(client))["replica"] == "a"


async def test_a_body_that_is_too_long_for_nginx_is_an_error_with_its_status(
    replicas: Any, before: Any
) -> None:
    with before(replicas("a")) as url:
        async with connected(f"{url}/mcp") as client:
            with pytest.raises(HttpStatusError, match="413") as caught:
                await client.call_tool("size", {"text": "x" * 2_000_000})
            assert caught.value.status == 413
            assert (await ask_where(client))["replica"] == "a"


async def test_a_server_that_is_gone_is_an_error_with_the_status_of_nginx(before: Any) -> None:
    [free] = services.free_ports(1)
    with before([f"http://127.0.0.1:{free}/mcp"]) as url:
        client = Client(f"{url}/mcp")
        with pytest.raises(HttpStatusError, match="502") as caught:
            await client.connect()
        await client.close()
    assert caught.value.status == 502
