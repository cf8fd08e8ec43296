"""Tests of the listener for the browser that comes back, with real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from tests.unit.client.authorization.browser import get, read_answer, send
from wigwag.client.authorization.loopback_listener import LoopbackListener
from wigwag.errors import AuthorizationFailed
from wigwag.oauth.urls import read_url

pytestmark = pytest.mark.anyio

STATE = "s" * 43


@pytest.fixture
async def listener() -> AsyncIterator[LoopbackListener]:
    made = LoopbackListener()
    yield made
    await made.aclose()


def waiting_for(listener: LoopbackListener, state: str | None = STATE) -> "asyncio.Task[str]":
    return asyncio.create_task(listener.wait(state))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


async def test_the_redirect_is_returned_as_it_came(listener: LoopbackListener) -> None:
    uri = await listener.open(())
    assert uri == f"http://127.0.0.1:{read_url(uri).port}/callback"
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    answer = await get(f"{uri}?code=a%2Bb+c&state={STATE}&iss=https%3A%2F%2Fas.example%2F")
    assert answer.status == 200
    assert "The log-in is complete" in answer.body
    assert await waiting == f"{uri}?code=a%2Bb+c&state={STATE}&iss=https%3A%2F%2Fas.example%2F"


async def test_once_the_browser_was_back_nothing_listens_any_more(
    listener: LoopbackListener,
) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    await get(f"{uri}?code=x&state={STATE}")
    await waiting
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await get(f"{uri}?code=x&state={STATE}")


async def test_a_refusal_is_a_redirect_too_and_its_page_says_so(listener: LoopbackListener) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    answer = await get(f"{uri}?error=access_denied&state={STATE}")
    assert answer.status == 200
    assert "There is no access" in answer.body
    assert await waiting == f"{uri}?error=access_denied&state={STATE}"


async def test_only_the_answer_to_what_was_asked_counts(listener: LoopbackListener) -> None:
    uri = await listener.open(())
    early = await get(f"{uri}?code=x&state={STATE}")  # nobody has been asked
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    others = [await get(f"{uri}{query}") for query in ("", "?code=x", "?code=x&state=another")]
    assert [answer.status for answer in (early, *others)] == [400] * 4
    assert all("not the window that is waited for" in answer.body for answer in others)
    assert not waiting.done()
    assert listener.has_seen_another
    await get(f"{uri}?code=right&state={STATE}")
    assert await waiting == f"{uri}?code=right&state={STATE}"


async def test_where_no_state_was_sent_whatever_comes_back_counts(
    listener: LoopbackListener,
) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener, None)
    await asyncio.sleep(0)
    await get(f"{uri}?code=x")
    assert await waiting == f"{uri}?code=x"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/favicon.ico", 404),
        ("GET", "/callback/", 404),
        ("GET", "/CALLBACK", 404),
        ("POST", "/callback", 405),
        ("HEAD", "/callback", 405),
    ],
)
async def test_other_paths_and_methods_are_nothing(
    method: str, path: str, status: int, listener: LoopbackListener
) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    url = f"{uri.removesuffix('/callback')}{path}?code=x&state={STATE}"
    answer = await get(url, method=method)
    assert answer.status == status
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "evil.example:80"])
async def test_a_name_that_was_made_to_lead_here_gets_nothing(
    host: str, listener: LoopbackListener
) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    answer = await get(f"{uri}?code=x&state={STATE}", host=host)
    assert answer.status == 421
    assert not waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET /callback\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /callback HTTP/1.1\r\n\r\n",
        b"GET /callback HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET http://127.0.0.1/callback HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /callback?\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /callback FTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused(data: bytes, listener: LoopbackListener) -> None:
    port = read_url(await listener.open(())).port
    assert read_answer(await send("127.0.0.1", port, data)).status == 400


async def test_a_request_that_is_too_large_is_refused(listener: LoopbackListener) -> None:
    port = read_url(await listener.open(())).port
    data = b"GET /callback?code=" + b"x" * 100_000
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.readuntil(b"\r\n")
    assert answer == b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    writer.close()


async def test_a_code_may_be_as_long_as_a_token(listener: LoopbackListener) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    parts = read_url(uri)
    target = f"/callback?code={'x' * 20_000}&state={STATE}"
    head = f"GET {target} HTTP/1.1\r\nHost: {parts.host}:{parts.port}\r\n\r\n"
    assert read_answer(await send(parts.host, parts.port, head.encode())).status == 200
    assert await waiting == f"http://{parts.host}:{parts.port}{target}"


async def test_connections_that_say_nothing_hold_up_neither_others_nor_the_end(
    listener: LoopbackListener,
) -> None:
    uri = await listener.open(())
    port = read_url(uri).port
    idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
    idle[0][1].write(b"GET /callback HTT")
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    await get(f"{uri}?code=x&state={STATE}")
    await waiting
    await listener.aclose()
    for reader, writer in idle:
        with suppress(ConnectionError):  # what it said was not read
            assert await reader.read() == b""
        writer.close()


async def test_the_end_of_the_wait_is_the_end_of_listening(listener: LoopbackListener) -> None:
    uri = await listener.open(())
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await get(uri)


async def test_a_registered_port_is_used_again_letter_for_letter(
    listener: LoopbackListener,
) -> None:
    registered = f"http://127.0.0.1:{free_port()}/back?x=1"
    assert await listener.open(("https://app.example/callback", registered)) == registered
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    await get(f"{registered}&code=x&state={STATE}")
    assert await waiting == f"{registered}&code=x&state={STATE}"


async def test_where_the_registered_port_is_taken_another_one_will_do(
    listener: LoopbackListener,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        uri = await listener.open((f"http://127.0.0.1:{port}/back",))
    assert uri == f"http://127.0.0.1:{read_url(uri).port}/back"
    assert read_url(uri).port != port


async def test_a_registered_uri_without_a_port_stands_for_any(listener: LoopbackListener) -> None:
    uri = await listener.open(("http://127.0.0.1/back",))
    assert read_url(uri).port != 80
    assert uri == f"http://127.0.0.1:{read_url(uri).port}/back"


async def test_localhost_is_whatever_a_browser_takes_it_for(listener: LoopbackListener) -> None:
    uri = await listener.open(("http://localhost/back",))
    port = read_url(uri).port
    assert uri == f"http://localhost:{port}/back"
    waiting = waiting_for(listener)
    await asyncio.sleep(0)
    for address in ("127.0.0.1", "::1") if socket.has_ipv6 and has_ipv6() else ("127.0.0.1",):
        head = f"GET /nothing HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"
        assert read_answer(await send(address, port, head.encode())).status == 404
    waiting.cancel()
    await asyncio.wait([waiting])


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


async def test_a_port_that_was_wanted_is_the_one_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        listener = LoopbackListener(port=port)
        with pytest.raises(AuthorizationFailed) as failed:
            await listener.open((f"http://127.0.0.1:{free_port()}/back",))
        assert str(failed.value) == (
            f"nothing can listen at 127.0.0.1:{port} for the browser to come back: "
            "Address already in use; choose another port, or end what has it"
        )
    assert await listener.open(()) == f"http://127.0.0.1:{port}/callback"
    await listener.aclose()


async def test_redirect_uris_of_other_machines_cannot_be_listened_at(
    listener: LoopbackListener,
) -> None:
    with pytest.raises(AuthorizationFailed, match=r"no redirect URI .* is of this machine"):
        await listener.open(("https://app.example/callback", "https://127.0.0.1/callback"))
