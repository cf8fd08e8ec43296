"""`Client(url, auth=OAuth(…))` against servers that want a token, whatever is asked first."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from tests.authorization.answering_login import Logins
from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import Guard, GuardedUrl
from tests.interaction.connecting import PATIENCE, TIMEOUTS
from tests.interaction.http_server import HttpRequest
from tests.interaction.test_http_client_sse import OldServer
from wigwag import AuthorizationFailed, Client, HttpStatusError, Timeouts
from wigwag.client.authorization.oauth import OAuth
from wigwag.client.events import ClientEvent
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, ElicitResult, Implementation
from wigwag.stores.memory_tokens import MemoryTokenStore

pytestmark = pytest.mark.anyio


def client_of(url: str, logins: Logins, store: MemoryTokenStore, **options: Any) -> Client:
    auth = OAuth(login=logins, store=store, client_name="Tests")
    return Client(url, **{"auth": auth, "timeouts": TIMEOUTS, "era_cache": {}, **options})


async def test_a_user_logs_in_when_the_server_wants_that(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    events: list[ClientEvent] = []
    async with client_of(guarded.url, logins, store, on_event=events.append) as client:
        assert client.protocol_version == LATEST_MODERN
        for _ in range(3):
            assert (await client.call_tool("tool")).text == "done"

    assert len(logins.asked) == 1
    assert logins.listening == 0
    assert issuer.clients["client-1"]["client_name"] == "Tests"
    assert issuer.queries[0]["resource"] == issuer.forms[0]["resource"] == guarded.url
    assert [event.kind for event in events] == ["logged_in"]
    assert guarded.refusals == 1
    tokens = guarded.tokens_of("tools/call")
    assert tokens == [*issuer.tokens] * 3


async def test_a_server_that_wants_no_token_gets_none(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.open.add("anything")

    async with client_of(guarded.url, logins, store) as client:
        assert (await client.call_tool("tool")).text == "done"

    assert guarded.tokens_of("tools/call") == [""]
    assert logins.asked == []
    assert issuer.requests == []
    assert guarded.reads_of_metadata == 0


@pytest.mark.parametrize("first", ["initialize", "notifications/initialized", "tools/call"])
async def test_a_legacy_server_may_want_a_token_from_any_message_on(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, first: str
) -> None:
    order = ["server/discover", "initialize", "notifications/initialized", "GET", "tools/call"]
    async with GuardedUrl(issuer, LATEST_LEGACY, session="s") as guarded:
        guarded.open.update(order[: order.index(first)])

        async with client_of(guarded.url, logins, store) as client:
            assert client.protocol_version == LATEST_LEGACY
            assert (await client.call_tool("tool")).text == "done"

        assert len(logins.asked) == 1
        assert guarded.sessions == []  # the DELETE has come, with the token
        assert guarded.tokens_of("DELETE") == [*issuer.tokens]
        assert guarded.tokens_of("tools/call")[-1] in issuer.tokens
        assert guarded.tokens_of("notifications/initialized")[-1:] == (
            [""] if first == "tools/call" else [*issuer.tokens]
        )


async def test_the_stream_of_a_legacy_server_may_want_a_token_too(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def listen(request: HttpRequest) -> None:
        await request.stream()
        await request.wait_gone()

    async with GuardedUrl(issuer, LATEST_LEGACY, session="s", GET=listen) as guarded:
        guarded.open.update({"server/discover", "initialize", "notifications/initialized"})

        async with client_of(guarded.url, logins, store) as client:
            await guarded.wait_asked("GET", 2)
            assert client.is_connected

        assert guarded.tokens_of("GET") == ["", *issuer.tokens]


async def test_a_response_of_the_client_may_be_refused_and_is_repeated(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def ask(request: HttpRequest) -> None:
        await request.stream()
        params = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        question = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": params}
        await request.event(question)
        issuer.revoke_all()
        async with asyncio.timeout(PATIENCE):
            while not issuer.tokens:
                await guarded.wait_asked_response()
                await asyncio.sleep(0)
        answered = {"jsonrpc": "2.0", "id": request.message["id"]}
        await request.event({**answered, "result": {"content": [{"type": "text", "text": "done"}]}})

    async def answer(_: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with GuardedUrl(issuer, LATEST_LEGACY, session="s", tools__call=ask) as guarded:
        async with client_of(guarded.url, logins, store, elicitation=answer) as client:
            assert (await client.call_tool("tool")).text == "done"

        responses = [r for r in guarded.requests if r.method == "POST" and r.asks is None]
        assert len(responses) == 2
        assert issuer.counts["refresh_token"] == 1


class GuardedOldServer(Guard, OldServer):
    """A server of HTTP+SSE that wants tokens."""


@pytest.mark.parametrize("is_open", [False, True])
async def test_http_sse_is_authorized_as_well(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, *, is_open: bool
) -> None:
    async with GuardedOldServer() as guarded:
        guarded.guarded_by(issuer)
        if is_open:  # only calls want a token
            guarded.open.update(
                {"server/discover", "initialize", "GET", "notifications/initialized"}
            )

        async with client_of(guarded.url, logins, store) as client:
            assert (await client.call_tool("tool")).text == "done"

        assert len(logins.asked) == 1
        assert guarded.tokens_of("tools/call")[-1] in issuer.tokens
        assert is_open or guarded.tokens_of("GET")[-1] in issuer.tokens


async def test_why_http_sse_is_not_authorized_is_told(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    issuer.failures["login"] = [(302, {"error": "access_denied"})]
    async with GuardedOldServer() as guarded:
        guarded.guarded_by(issuer)
        guarded.open.update({"server/discover", "initialize"})  # which it does not know

        with pytest.raises(AuthorizationFailed, match="access was refused with access_denied"):
            await client_of(guarded.url, logins, store).connect()


async def test_a_token_is_never_in_a_url(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with client_of(f"{guarded.url}?team=7", logins, store) as client:
        await client.call_tool("tool")

    assert {request.path for request in guarded.asked("tools/call")} == {"/mcp?team=7"}
    (token,) = issuer.tokens
    assert not [r for r in (*guarded.requests, *issuer.requests) if token in r.path]


async def test_an_answer_that_forbids_something_else_is_told_as_it_is(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def forbid(request: HttpRequest) -> None:
        await request.answer(403, b"not on Sundays")

    async with (
        GuardedUrl(issuer, tools__call=forbid) as guarded,
        client_of(guarded.url, logins, store) as client,
    ):
        with pytest.raises(HttpStatusError, match="403 Whatever: not on Sundays"):
            await client.call_tool("tool")

    assert len(logins.asked) == 1


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_who_cannot_log_in_learns_why_and_the_server_counts_as_nothing_else(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, revision: str
) -> None:
    issuer.failures["login"] = [(302, {"error": "access_denied"})] * 2
    eras: dict[str, str] = {}
    async with GuardedUrl(issuer, revision, session="s") as guarded:
        client = client_of(guarded.url, logins, store, era_cache=eras)
        for _ in range(2):
            with pytest.raises(AuthorizationFailed, match="access was refused with access_denied"):
                await client.connect()
        await client.close()

        assert eras == {}
        assert guarded.asked("initialize") == []
        assert logins.listening == 0


def taking(seconds: float) -> Callable[[], Awaitable[None]]:
    """Return what lets so much time pass on the event loop that runs, without waiting for it."""
    loop = asyncio.get_running_loop()
    real, passed = loop.time, 0.0

    async def pass_time() -> None:
        nonlocal passed
        passed += seconds
        for _ in range(10):  # what is due by then happens now
            await asyncio.sleep(0)

    loop.time = lambda: real() + passed  # type: ignore[method-assign]
    return pass_time


async def test_time_spent_on_logging_in_does_not_count(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    """Neither for connecting and probing nor for a call, whatever their limits."""
    logins.before = taking(100_000.0)
    auth = OAuth(login=logins, store=store, timeout=1e9)
    async with (
        GuardedUrl(issuer) as guarded,
        client_of(guarded.url, logins, store, auth=auth) as client,
    ):
        assert len(logins.asked) == 1
        issuer.revoke_all()
        issuer.forget_refresh_tokens()
        assert (await client.call_tool("tool")).text == "done"
        assert len(logins.asked) == 2


@pytest.mark.parametrize("is_old", [False, True])
async def test_a_call_may_wait_for_the_login_of_the_message_before_it(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore, *, is_old: bool
) -> None:
    logins.before = taking(30.0)  # longer than what needs no answer may take, too
    auth = OAuth(login=logins, store=store, timeout=1e9)
    timeouts = Timeouts(request=15.0, connect=PATIENCE, probe=PATIENCE)
    async with GuardedOldServer() if is_old else GuardedUrl(issuer, LATEST_LEGACY) as guarded:
        guarded.guarded_by(issuer)
        guarded.open.update({"server/discover", "initialize", "GET"})

        async with client_of(guarded.url, logins, store, auth=auth, timeouts=timeouts) as client:
            assert (await client.call_tool("tool")).text == "done"

        assert len(logins.asked) == 1


async def test_what_is_sent_again_may_wait_for_a_login_before(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def cut(request: HttpRequest) -> None:
        """End the stream that the answer should come on; the next one wants another login."""
        del guarded.replies["ping"]
        issuer.revoke_all()
        issuer.forget_refresh_tokens()
        logins.before = taking(30.0)
        await request.answer(202)
        guarded.ended.set()

    auth = OAuth(login=logins, store=store, timeout=1e9)
    timeouts = Timeouts(request=15.0, connect=15.0, probe=PATIENCE)
    async with GuardedOldServer() as guarded:
        guarded.guarded_by(issuer)
        guarded.replies["ping"] = cut
        async with client_of(guarded.url, logins, store, auth=auth, timeouts=timeouts) as client:
            await client.ping()

        assert len(guarded.asked("ping")) == 2
        assert len(logins.asked) == 2


async def test_who_listens_may_wait_for_a_login_before(
    issuer: AuthorizationServer, logins: Logins, store: MemoryTokenStore
) -> None:
    async def agree(request: HttpRequest) -> None:
        await request.stream()
        wanted = request.message["params"]["notifications"]
        meta = {"io.modelcontextprotocol/subscriptionId": request.message["id"]}
        params = {"_meta": meta, "notifications": wanted}
        method = "notifications/subscriptions/acknowledged"
        await request.event({"jsonrpc": "2.0", "method": method, "params": params})
        await request.wait_gone()

    capabilities = {"tools": {"listChanged": True}}
    logins.before = taking(30.0)
    auth = OAuth(login=logins, store=store, timeout=1e9)
    timeouts = Timeouts(request=15.0, connect=15.0, probe=PATIENCE)
    async with GuardedUrl(issuer, capabilities=capabilities) as guarded:
        guarded.replies["subscriptions/listen"] = agree
        guarded.open.add("server/discover")
        client = client_of(guarded.url, logins, store, auth=auth, timeouts=timeouts)
        async with client, client.listen(tools=True) as changes:
            assert changes.honored.tools_list_changed

    assert len(logins.asked) == 1


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "Wigwag"),
        ({"info": Implementation(name="shop", version="1")}, "shop"),
        ({"info": Implementation(name="shop", version="1", title="The Shop")}, "The Shop"),
    ],
)
async def test_the_user_is_shown_what_the_client_calls_itself(
    issuer: AuthorizationServer,
    guarded: GuardedUrl,
    logins: Logins,
    store: MemoryTokenStore,
    options: dict[str, Any],
    name: str,
) -> None:
    auth = OAuth(login=logins, store=store)
    async with client_of(guarded.url, logins, store, auth=auth, **options):
        assert issuer.clients["client-1"]["client_name"] == name


async def test_a_library_of_the_users_makes_the_requests_with_the_tokens(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    async with (
        httpx2.AsyncClient() as library,
        client_of(guarded.url, logins, store, http_client=library) as client,
    ):
        issuer.revoke_all()
        assert (await client.call_tool("tool")).text == "done"

    assert issuer.counts["refresh_token"] == 1


async def test_nobody_waits_for_a_user_for_ever(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    logins.before = asyncio.Event().wait
    auth = OAuth(login=logins, store=store, timeout=0.05)

    with pytest.raises(AuthorizationFailed, match=r"nobody has logged in within 0\.05 s"):
        await client_of(guarded.url, logins, store, auth=auth).connect()

    assert logins.listening == 0


async def test_who_gives_up_leaves_nothing_behind(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.open.add("server/discover")
    logins.before = asyncio.Event().wait
    async with client_of(guarded.url, logins, store) as client:
        call = asyncio.create_task(client.call_tool("tool"))
        async with asyncio.timeout(PATIENCE):
            await logins.has_asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        async with asyncio.timeout(PATIENCE):
            await logins.has_closed.wait()
            async with store.lock(guarded.url):
                pass

        logins.before = None
        assert (await client.call_tool("tool")).text == "done"


async def test_closing_a_client_ends_the_login(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    logins.before = asyncio.Event().wait
    client = client_of(guarded.url, logins, store)
    connecting = asyncio.create_task(client.connect())
    async with asyncio.timeout(PATIENCE):
        await logins.has_asked.wait()

    await client.close()

    assert logins.listening == 0
    with pytest.raises(Exception, match="the client was closed"):
        await connecting


async def test_many_calls_ask_the_user_once_also_when_the_answer_is_no(
    issuer: AuthorizationServer, guarded: GuardedUrl, logins: Logins, store: MemoryTokenStore
) -> None:
    guarded.open.add("server/discover")
    issuer.failures["login"] = [(302, {"error": "access_denied"})]
    logins.before = lambda: guarded.wait_asked("tools/call", 10)
    async with client_of(guarded.url, logins, store) as client:
        calls = [client.call_tool("tool") for _ in range(10)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert len(logins.asked) == 1
        assert {str(error) for error in found} == {
            f"access was refused with access_denied ({issuer.issuer}/authorize); log in again to "
            "be asked again"
        }

        logins.before = None
        done = await asyncio.gather(*(client.call_tool("tool") for _ in range(10)))
        assert len(logins.asked) == 2
        assert {each.text for each in done} == {"done"}
