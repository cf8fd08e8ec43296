"""Fetching documents of authorization, from sockets that say whatever they like."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trustme

from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
    TransportError,
)
from wigwag.oauth.fetch_rules import MAX_DOCUMENT_BYTES, Networks
from wigwag.oauth.requests import HttpRequest, form_request, get_request
from wigwag.transports.document_fetching import DocumentFetcher, addresses_of

pytestmark = pytest.mark.anyio

HERE = Networks(loopback=True)


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Answering:
    """A socket that answers each request with what it is told, and keeps what it was asked."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        self.asked: list[bytes] = []
        self.answers: dict[bytes, bytes | Answer] = {}


@asynccontextmanager
async def answering(tls: ssl.SSLContext | None = None) -> AsyncIterator[Answering]:
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(answer(reader, writer)))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
            body = await reader.readexactly(int(length)) if length else b""
            here.asked.append(head + body)
            given = here.answers[head.split(b" ")[1]]
            if isinstance(given, bytes):
                writer.write(given)
            else:
                await given(reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    here = Answering(server.sockets[0].getsockname()[1])
    try:
        yield here
    finally:
        server.close()
        await asyncio.gather(*tasks)


@pytest.fixture
async def server() -> AsyncIterator[Answering]:
    async with answering() as here:
        yield here


def response(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def redirect(location: str) -> bytes:
    return response(b"", "302 Found", f"Location: {location}")


async def test_a_response_comes_back_whole_whatever_its_status(server: Answering) -> None:
    server.answers[b"/x?y=%2F"] = response(b'{"a":1}', "404 Not Found", "X-One: 1", "X-One: 2")
    fetcher = DocumentFetcher(networks=HERE, clock=lambda: 12.0)

    got = await fetcher.fetch(get_request(f"{server.url}/x?y=%2F"))

    assert (got.status, got.body, got.received_at) == (404, b'{"a":1}', 12.0)
    assert got.values("x-one") == ["1", "2"]


async def test_a_post_carries_its_form_and_no_more_than_it_must(server: Answering) -> None:
    server.answers[b"/token"] = response(b"{}", "200 OK", "Set-Cookie: a=b")
    fetcher = DocumentFetcher(networks=HERE)
    request = form_request(f"{server.url}/token", {"code": "a b"}, {"authorization": "Basic eA=="})

    await fetcher.fetch(request)
    await fetcher.fetch(request)

    for asked in server.asked:
        assert asked.startswith(b"POST /token HTTP/1.1\r\n")
        assert b"authorization: Basic eA==\r\n" in asked
        assert b"cookie" not in asked.lower()
        assert asked.endswith(b"\r\n\r\ncode=a+b")


async def test_a_redirect_of_a_get_is_followed(server: Answering) -> None:
    server.answers[b"/a"] = redirect("/b")
    server.answers[b"/b"] = response(b"{}")

    got = await DocumentFetcher(networks=HERE).fetch(get_request(f"{server.url}/a", {"x": "y"}))

    assert got.status == 200
    assert b"x: y\r\n" in server.asked[1]


async def test_headers_for_one_origin_do_not_reach_another(server: Answering) -> None:
    async with answering() as other:
        server.answers[b"/a"] = redirect(f"{other.url}/b")
        other.answers[b"/b"] = response(b"{}")

        await DocumentFetcher(networks=HERE).fetch(
            get_request(f"{server.url}/a", {"authorization": "Bearer secret"})
        )

        assert b"Accept: application/json" in other.asked[0].replace(b"accept:", b"Accept:")
        assert b"secret" not in other.asked[0]


async def test_a_redirect_of_a_post_is_refused(server: Answering) -> None:
    server.answers[b"/token"] = redirect("/elsewhere")

    with pytest.raises(AuthorizationUntrusted, match="would carry secrets to another place"):
        await DocumentFetcher(networks=HERE).fetch(form_request(f"{server.url}/token", {"a": "b"}))

    assert len(server.asked) == 1


async def test_redirects_without_end_are_refused(server: Answering) -> None:
    server.answers[b"/a"] = redirect("/a")

    with pytest.raises(AuthorizationUntrusted, match="after 3 other redirects"):
        await DocumentFetcher(networks=HERE).fetch(get_request(f"{server.url}/a"))

    assert len(server.asked) == 4


async def test_a_redirect_to_a_place_that_is_not_allowed_is_refused(server: Answering) -> None:
    server.answers[b"/a"] = redirect("https://169.254.169.254/latest/meta-data")

    with pytest.raises(AuthorizationUntrusted, match=r"leads to 169\.254\.169\.254"):
        await DocumentFetcher(networks=HERE).fetch(get_request(f"{server.url}/a"))


async def test_this_machine_is_not_asked_unless_that_is_allowed(server: Answering) -> None:
    for host in ("127.0.0.1", "localhost", "127.1", "0x7f000001"):
        with pytest.raises(AuthorizationUntrusted, match="which is this machine"):
            await DocumentFetcher().fetch(get_request(f"http://{host}:{server.port}/a"))

    assert server.asked == []


async def test_a_host_is_resolved_once_and_only_those_addresses_are_asked(
    server: Answering,
) -> None:
    """A name that leads somewhere else when it is asked a second time gains nothing."""
    server.answers[b"/a"] = response(b"{}")
    asked: list[tuple[str, int]] = []

    async def addresses(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["10.0.0.1"]

    fetcher = DocumentFetcher(networks=HERE, addresses_of=addresses)

    await fetcher.fetch(get_request(f"http://as.example:{server.port}/a"))
    assert asked == [("as.example", server.port)]
    assert f"Host: as.example:{server.port}".encode() in server.asked[0]

    with pytest.raises(AuthorizationUntrusted, match=r"leads to 10\.0\.0\.1"):
        await fetcher.fetch(get_request(f"http://as.example:{server.port}/a"))


async def test_one_forbidden_address_among_several_is_enough_to_refuse() -> None:
    async def addresses(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "169.254.169.254"]

    with pytest.raises(AuthorizationUntrusted, match=r"as\.example/x leads to 169\.254\.169\.254"):
        await DocumentFetcher(addresses_of=addresses).fetch(get_request("https://as.example/x"))


async def test_a_host_that_does_not_exist_may_exist_later() -> None:
    with pytest.raises(AuthorizationUnavailable, match=r"find the host of https://nowhere.invalid"):
        await DocumentFetcher().fetch(get_request("https://nowhere.invalid/"))


async def test_a_url_that_can_be_read_in_two_ways_is_not_fetched() -> None:
    with pytest.raises(AuthorizationUntrusted, match="it has a user name in it"):
        await DocumentFetcher().fetch(get_request("https://a@b/"))


async def test_a_port_where_nobody_listens_may_be_served_later() -> None:
    async with answering() as here:
        url = here.url
    with pytest.raises(AuthorizationUnavailable, match=f"nobody listens at {url}"):
        await DocumentFetcher(networks=HERE).fetch(get_request(f"{url}/?secret"))


async def test_an_answer_that_is_too_large_is_refused_however_it_comes(server: Answering) -> None:
    async def without_end(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" " * 65536)
            await writer.drain()

    server.answers[b"/a"] = response(b" " * (MAX_DOCUMENT_BYTES + 1))
    server.answers[b"/b"] = without_end
    server.answers[b"/c"] = response(b" " * MAX_DOCUMENT_BYTES)
    fetcher = DocumentFetcher(networks=HERE)

    for path in ("a", "b"):
        with pytest.raises(AuthorizationUntrusted, match="more than 1048576 bytes"):
            await fetcher.fetch(get_request(f"{server.url}/{path}"))
    assert len((await fetcher.fetch(get_request(f"{server.url}/c"))).body) == MAX_DOCUMENT_BYTES


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
async def test_an_answer_that_does_not_end_is_waited_for_only_so_long(
    server: Answering, said: bytes
) -> None:
    async def slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await reader.read()  # until the client goes away

    server.answers[b"/a"] = slowly

    with pytest.raises(AuthorizationUnavailable, match=r"no complete answer within 0\.05 s"):
        await DocumentFetcher(networks=HERE, timeout=0.05).fetch(get_request(f"{server.url}/a"))


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
)
async def test_an_answer_that_is_cut_may_be_whole_another_time(
    server: Answering, said: bytes
) -> None:
    server.answers[b"/a"] = said

    with pytest.raises(AuthorizationUnavailable, match="cut the connection"):
        await DocumentFetcher(networks=HERE).fetch(get_request(f"{server.url}/a"))


async def test_what_does_not_speak_http_fails(server: Answering) -> None:
    server.answers[b"/a"] = b"SSH-2.0-OpenSSH_9.2\r\n"

    with pytest.raises(AuthorizationFailed, match="does not speak HTTP"):
        await DocumentFetcher(networks=HERE).fetch(get_request(f"{server.url}/a"))


async def test_what_cannot_be_sent_fails(server: Answering) -> None:
    request = HttpRequest("GET", f"{server.url}/a", {"x": "a\r\nb: c"})

    with pytest.raises(AuthorizationFailed, match="cannot be sent"):
        await DocumentFetcher(networks=HERE).fetch(request)


async def test_certificates_are_checked_against_what_is_trusted() -> None:
    authority = trustme.CA()
    certified = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(certified)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(answering(certified))
        server.answers[b"/a"] = response(b"{}")
        request = get_request(f"https://localhost:{server.port}/a")

        assert (await DocumentFetcher(networks=HERE, ssl=trusting).fetch(request)).status == 200
        with pytest.raises(AuthorizationUntrusted, match="certificate of https://localhost"):
            await DocumentFetcher(networks=HERE).fetch(request)
        with authority.cert_pem.tempfile() as file:
            assert (await DocumentFetcher(networks=HERE, ssl=file).fetch(request)).status == 200


async def test_https_where_there_is_none_is_not_trusted() -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(response(b"speak HTTP", "400 Bad Request"))
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        request = get_request(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/a")

        with pytest.raises(AuthorizationUntrusted, match="no secure connection"):
            await DocumentFetcher(networks=HERE).fetch(request)


async def test_a_file_of_certificates_that_is_none_is_named(server: Answering) -> None:
    fetcher = DocumentFetcher(networks=HERE, ssl="/nowhere.pem")

    with pytest.raises(TransportError, match=r"cannot read certificates from /nowhere\.pem"):
        await fetcher.fetch(get_request(f"{server.url}/a"))


async def test_addresses_are_those_of_the_system() -> None:
    assert "127.0.0.1" in await addresses_of("localhost", 80)
    assert await addresses_of("nowhere.invalid", 80) == []
    assert await addresses_of("a" * 64 + ".example", 80) == []
