"""The relay in front of a URL, with both its neighbours made of sockets."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest
import trustme

from tests.e2e.host import PATIENCE
from wigwag.errors import TransportError
from wigwag.tracing.http_relay import HttpRelay
from wigwag.tracing.records import EndRecord, HttpPart, HttpRecord, MessageRecord, Record

pytestmark = pytest.mark.anyio

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}'
CALL = (
    b"POST /mcp HTTP/1.1\r\nhost: %s\r\nX-Odd:  a\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)
ANSWER = (
    b"HTTP/1.1 200 Fine\r\nContent-Type: application/json\r\nX-odd:b\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(PONG), PONG)
)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


class Between:
    """A relay with a server behind it.

    Attributes:
        heard: What the server has received.
        records: What the relay has told.
    """

    def __init__(
        self, relay: HttpRelay, port: int, heard: bytearray, records: list[Record]
    ) -> None:
        self.relay = relay
        self.behind = f"127.0.0.1:{port}".encode()
        self.host = relay.origin.removeprefix("http://").encode()
        self.heard = heard
        self.records = records

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        port = int(self.host.rpartition(b":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def exchange(self, data: bytes) -> bytes:
        """Sends something, and reads to the end."""
        async with self.connected() as (reader, writer):
            writer.write(data)
            async with asyncio.timeout(PATIENCE):
                return await reader.read()


@asynccontextmanager
async def between(
    serve: Serve,
    url: str = "http://127.0.0.1:{port}/mcp",
    tls: ssl.SSLContext | None = None,
    **options: object,
) -> AsyncIterator[Between]:
    heard = bytearray()
    records: list[Record] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        class Listening:
            async def read(self, size: int) -> bytes:
                data = await reader.read(size)
                heard.extend(data)
                return data

        try:
            await serve(Listening(), writer)  # type: ignore[arg-type]
        finally:
            writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    async with HttpRelay(url.format(port=port), [records.append], **options) as relay:  # type: ignore[arg-type]
        yield Between(relay, port, heard, records)
    server.close()
    assert isinstance(records[-1], EndRecord)


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each request, however it is cut."""
    data = b""
    while piece := await reader.read(65536):
        data += piece
        while data.endswith(PING):
            data = b""
            writer.write(ANSWER)


async def answers_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(65536)
    writer.write(ANSWER)


async def test_no_byte_changes_but_the_name_of_the_server() -> None:
    async with between(answers) as made:
        sent = CALL % (made.host, len(PING), PING)
        async with made.connected() as (reader, writer):
            for _ in range(2):  # on one connection
                for at in range(0, len(sent), 11):
                    writer.write(sent[at : at + 11])
                    await writer.drain()
                assert await reader.readexactly(len(ANSWER)) == ANSWER
        expected = CALL % (made.behind, len(PING), PING)
        assert bytes(made.heard) == expected * 2
    told = [each for each in made.records if isinstance(each, MessageRecord)]
    assert [(each.sender, each.connection, bytes(each.message)) for each in told] == [
        (sender, number, message)
        for number in (1, 2)
        for sender, message in (("client", PING), ("server", PONG))
    ]
    assert told[0].http is not None
    assert (told[0].http.method, told[0].http.path) == ("POST", "/mcp")
    assert told[0].http.headers["x-odd"] == "a"
    assert told[1].http is not None
    assert told[1].http.status == 200


async def test_large_bodies_pass_in_both_directions() -> None:
    size = 3_000_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n" % size

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = bytearray()
        while b"\r\n\r\n" not in data[:1000] or len(data) < data.index(b"\r\n\r\n") + 4 + size:
            data += await reader.read(65536)
        writer.write(head + data.partition(b"\r\n\r\n")[2])

    body = bytes(range(250)) * (size // 250)
    async with between(echo) as made:
        assert await made.exchange(CALL % (made.host, size, body)) == head + body


async def test_a_stream_passes_as_it_comes() -> None:
    go_on = asyncio.Event()
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    one = b"2c\r\ndata: " + PONG + b"\n\n\r\n"
    two = b"3\r\n: x\r\n"

    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(head + one)
        await go_on.wait()
        writer.write(two + b"0\r\n\r\n")

    async with between(stream) as made, made.connected() as (reader, writer):
        writer.write(CALL % (made.host, len(PING), PING))
        async with asyncio.timeout(PATIENCE):
            assert await reader.readexactly(len(head + one)) == head + one
            go_on.set()
            assert await reader.read() == two + b"0\r\n\r\n"
    kinds = [type(each) for each in made.records]
    assert kinds == [MessageRecord, HttpRecord, MessageRecord, HttpRecord, EndRecord]


async def test_redirections_lead_back_through_the_relay() -> None:
    async def redirects(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("sockname")[1]
        await reader.read(65536)
        writer.write(
            b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:%d/mcp/?a=1\r\n"
            b"Content-Length: 0\r\n\r\n" % port
        )

    async with between(redirects) as made:
        assert await made.exchange(b"GET /mcp HTTP/1.1\r\nHost: %s\r\n\r\n" % made.host) == (
            b"HTTP/1.1 307 Go\r\nLocation: http://%s/mcp/?a=1\r\nContent-Length: 0\r\n\r\n"
            % made.host
        )


@pytest.mark.parametrize("where", ["/other", "https://elsewhere.example/mcp"])
async def test_other_redirections_stay_as_they_are(where: str) -> None:
    answer = f"HTTP/1.1 307 Go\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode()

    async def redirects(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(answer)

    async with between(redirects) as made:
        assert await made.exchange(b"GET /mcp HTTP/1.1\r\nHost: %s\r\n\r\n" % made.host) == answer


async def test_what_the_url_and_the_options_say_is_added_and_stays_secret() -> None:
    url = "http://me:pa55word@127.0.0.1:{port}/mcp?key=k1"
    headers = {"X-Api-Key": "0123456789abc"}
    async with between(answers_once, url, headers=headers) as made:
        await made.exchange(b"GET /mcp HTTP/1.1\r\nHost: %s\r\nx-api-key: b\r\n\r\n" % made.host)
        assert bytes(made.heard) == (
            b"GET /mcp?key=k1 HTTP/1.1\r\nHost: %s\r\nx-api-key: 0123456789abc\r\n"
            b"Authorization: Basic bWU6cGE1NXdvcmQ=\r\n\r\n" % made.behind
        )
        assert made.relay.url.endswith("/mcp")
    assert "0123456789abc" not in repr(made.records)


@pytest.mark.parametrize(
    ("request_text", "status", "words"),
    [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403", "refused Host 'evil.example'"),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n",
            b"403",
            "refused Origin 'https://evil.example'",
        ),
        ("hello\r\n\r\n", b"400", "no HTTP/1.1"),
    ],
)
async def test_what_must_not_pass_is_refused(request_text: str, status: bytes, words: str) -> None:
    async with between(answers) as made:
        answer = await made.exchange(request_text.encode())
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert words in answer.decode()
        assert not made.heard
    assert any(words in each.text for each in made.records if isinstance(each, HttpRecord))


async def test_pages_that_are_named_may_use_it() -> None:
    async with between(answers_once, allowed_origins=["https://app.example"]) as made:
        answer = await made.exchange(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://app.example\r\n\r\n"
        )
        assert answer == ANSWER


async def test_it_may_be_reached_by_names_that_are_named() -> None:
    async with between(answers_once, allowed_hosts=["tunnel.example"]) as made:
        answer = await made.exchange(b"GET / HTTP/1.1\r\nHost: tunnel.example\r\n\r\n")
        assert answer == ANSWER


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/mcp", "cannot connect to http://127.0.0.1:1/mcp: nobody listens"),
        ("http://no-such-host.invalid/mcp", "cannot find the host of http://no-such-host.invalid"),
        ("https://127.0.0.1:{port}/mcp", "no secure connection to https://127.0.0.1:"),
    ],
)
async def test_a_server_that_cannot_be_reached_is_a_bad_gateway(url: str, words: str) -> None:
    async with between(answers_once, url) as made:
        answer = await made.exchange(CALL % (made.host, len(PING), PING))
        assert answer.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
        assert words in answer.decode()
    (told,) = [each for each in made.records if isinstance(each, HttpRecord)]
    assert words in told.text
    assert told.http == HttpPart(status=502)  # so the request is not said to wait for an answer


async def test_a_server_with_a_certificate_is_reached() -> None:
    authority = trustme.CA()
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    url = "https://localhost:{port}/mcp"
    async with between(answers_once, url, tls=theirs, ssl=ours) as made:
        assert await made.exchange(CALL % (made.host, len(PING), PING)) == ANSWER
        assert b"host: localhost:" in bytes(made.heard)


async def test_a_server_learns_that_a_client_has_gone() -> None:
    gone = asyncio.Event()
    asked = asyncio.Event()

    async def waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            asked.set()
        gone.set()

    async with between(waits) as made:
        async with made.connected() as (_, writer), asyncio.timeout(PATIENCE):
            writer.write(CALL % (made.host, len(PING), PING))
            await asked.wait()
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
    assert [each.text for each in made.records if isinstance(each, HttpRecord)] == [
        "the client went away"
    ]


async def test_a_client_learns_that_a_server_has_gone() -> None:
    async def leaves(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(ANSWER[:-5])

    async with between(leaves) as made:
        assert await made.exchange(CALL % (made.host, len(PING), PING)) == ANSWER[:-5]
    assert [each.text for each in made.records if isinstance(each, HttpRecord)] == [
        "the answer was cut off"
    ]


async def test_a_server_that_speaks_something_else_is_passed_on_and_told() -> None:
    async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(b"SSH-2.0-OpenSSH\r\n\r\nand more")

    async with between(greets) as made:
        answer = await made.exchange(CALL % (made.host, len(PING), PING))
        assert answer == b"SSH-2.0-OpenSSH\r\n\r\nand more"
    assert any("no HTTP/1.1" in each.text for each in made.records if isinstance(each, HttpRecord))


async def test_closing_ends_streams_that_are_open() -> None:
    async def stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(STREAM_HEAD + b"\r\n: hi\n\n")
        await reader.read(65536)

    async with between(stream) as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.relay.port)
        writer.write(b"GET /mcp HTTP/1.1\r\nHost: %s\r\n\r\n" % made.host)
        await reader.readuntil(b": hi\n\n")
    async with asyncio.timeout(PATIENCE):
        assert await reader.read() == b""
    writer.close()


async def test_a_port_that_is_taken_is_an_error() -> None:
    async with between(answers) as made:
        with pytest.raises(TransportError, match=r"cannot listen on 127\.0\.0\.1 port"):
            await HttpRelay("http://a.example", [], port=made.relay.port).start()


@pytest.mark.parametrize("url", ["ftp://a/b", "http://", "mcp"])
def test_what_is_no_url_is_an_error(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL of http or https"):
        HttpRelay(url, [])
