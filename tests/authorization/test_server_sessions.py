"""Whose a session, a stream and the state of a call are."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.asgi import (
    JSON,
    Call,
    Site,
    hello,
    legacy,
    legacy_call,
    modern,
    modern_call,
    notification,
    serving,
    until,
)
from tests.authorization.protected_server import HOST, Ledger, ask, bearer, vault
from wigwag import Context, Limits, Protection, Server
from wigwag.stores.memory import memory_stores

pytestmark = pytest.mark.anyio

# One who asks, and others who are somebody else in one respect each.
OTHERS = ("bob", "ann-elsewhere", "ann-by-other-app", "nobody")


def ledger() -> Ledger:
    made = Ledger()
    made.issue("ann", "ann")
    made.issue("ann-refreshed", "ann", "more")
    made.issue("bob", "bob")
    made.issue("ann-elsewhere", "ann", issuer="https://elsewhere.example.com")
    made.issue("ann-by-other-app", "ann", client_id="other")
    return made


@asynccontextmanager
async def guarded(**options: Any) -> AsyncIterator[Site]:
    async with serving(vault(ledger(), anonymous=True), allowed_hosts=[HOST], **options) as site:
        yield site


def token_of(who: str) -> str | None:
    return None if who == "nobody" else who


async def post(site: Site, who: str, message: Any, session: str | None = None) -> Call:
    return await site.ask(message, {**JSON, **bearer(token_of(who))}, session=session)


async def begin(site: Site, who: str) -> str:
    answer = await post(site, who, hello(elicitation={}))
    assert answer.status == 200, answer.body
    session = answer.headers["mcp-session-id"]
    done = await post(site, who, notification("notifications/initialized"), session)
    assert done.status == 202
    return session


def open_stream(site: Site, who: str, session: str, last: str | None = None) -> Call:
    headers = {"accept": "text/event-stream", "mcp-session-id": session}
    if last is not None:
        headers["last-event-id"] = last
    return site.open("GET", headers={**headers, **bearer(token_of(who))})


@pytest.mark.parametrize("other", OTHERS)
async def test_a_session_is_nobody_elses(other: str) -> None:
    async with guarded() as site:
        session = await begin(site, "ann")
        stream = await open_stream(site, "ann", session).begun()
        first = await stream.event()
        for message in (
            legacy_call(2, "who"),
            notification("notifications/cancelled", {"requestId": 9}),
            {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {}}},
        ):
            assert (await post(site, other, message, session)).status == 404
        assert (await open_stream(site, other, session).whole()).status == 404
        assert (await open_stream(site, other, session, first.id).whole()).status == 404
        headers = {"mcp-session-id": session, **bearer(token_of(other))}
        assert (await site.open("DELETE", headers=headers).whole()).status == 404
        # And whose it is has not noticed.
        answer = await post(site, "ann", legacy_call(3, "who"), session)
        assert answer.json["result"]["content"][0]["text"] == "ann"
        assert not stream.is_complete
        stream.disconnect()


async def test_a_session_that_nobody_has_opened_is_nobodys_who_says_who_they_are() -> None:
    async with guarded() as site:
        session = await begin(site, "nobody")
        assert (await post(site, "ann", legacy(2, "tools/list"), session)).status == 404
        assert (await post(site, "nobody", legacy(3, "tools/list"), session)).status == 200


async def test_a_fresh_token_of_the_same_principal_goes_on_with_the_session() -> None:
    async with guarded() as site:
        session = await begin(site, "ann")
        assert (await post(site, "ann-refreshed", legacy_call(2, "who"), session)).status == 200


async def test_it_holds_at_other_replicas_and_after_a_restart() -> None:
    stores = memory_stores()
    async with guarded(stores=stores) as site:
        session = await begin(site, "ann")
        record = await stores.sessions.load(session)
        assert record is not None
        assert b"ann" not in record  # whose it is, but not who that is
        assert msgspec.json.decode(record)["owner"]
    async with guarded(stores=stores) as site:
        assert (await post(site, "bob", legacy_call(2, "who"), session)).status == 404
        assert (await post(site, "ann", legacy_call(3, "who"), session)).status == 200


async def test_a_session_from_before_there_was_a_guard_is_nobodys() -> None:
    stores = memory_stores()
    async with serving(Server("vault"), stores=stores) as site:
        session = await site.begin()
    async with guarded(stores=stores) as site:
        assert (await post(site, "ann", legacy(2, "ping"), session)).status == 404


async def test_the_modern_era_has_no_session_to_steal() -> None:
    async with guarded() as site:
        session = await begin(site, "ann")
        message, headers = modern_call(1, "who")
        answer = await site.ask(message, {**headers, **bearer("bob"), "mcp-session-id": session})
        assert answer.json["result"]["content"][0]["text"] == "bob"


# --- HTTP+SSE


async def test_messages_to_a_stream_are_taken_from_whoever_has_opened_it() -> None:
    made = ledger()
    base = f"http://{HOST}"
    for token in ("ann", "bob"):
        made.audiences[token] = f"{base}/sse"
    served = vault(made)
    served.resource("vault://boxes", name="boxes")(lambda: "")
    async with serving(served, allowed_hosts=[HOST], sse=True) as site:
        headers = {"accept": "text/event-stream"}
        refused = await site.open("GET", "/sse", headers={**headers, **bearer(None)}).whole()
        assert refused.status == 401
        metadata = f"{base}/.well-known/oauth-protected-resource/sse"
        assert metadata in refused.headers["www-authenticate"]
        found = await site.open("GET", metadata.removeprefix(base), headers={"host": HOST}).whole()
        assert found.json["resource"] == f"{base}/sse"
        stream = await site.open("GET", "/sse", headers={**headers, **bearer("ann")}).begun()
        path = f"/{(await stream.event()).data}"

        async def send(token: str | None, message: Any) -> int | None:
            own = {**JSON, **bearer(token)}
            data = json.dumps(message).encode()
            return (await site.open("POST", path, headers=own, body=data).whole()).status

        assert await send(None, hello("2024-11-05")) == 401
        assert await send("bob", hello("2024-11-05")) == 404
        assert await send("ann", hello("2024-11-05")) == 202
        assert (await stream.message())["id"] == "hello"
        assert await send("ann", notification("notifications/initialized")) == 202
        assert await send("ann", legacy_call(2, "who")) == 202
        assert (await stream.message())["result"]["content"][0]["text"] == "ann"
        assert await send("ann", legacy_call(3, "put", {"what": "x"})) == 202
        assert "vault:write" in (await stream.message())["error"]["message"]
        for number, uri in enumerate(("vault://door", "vault://boxes")):
            message = legacy(number, "resources/subscribe", {"uri": uri})
            assert await send("ann", message) == 202
            assert "result" in await stream.message()
        served.resource_updated("vault://boxes/7")  # which only owners may read
        served.resource_updated("vault://door")
        assert (await stream.message())["params"]["uri"] == "vault://door"
        stream.disconnect()


# --- long streams


async def test_streams_end_in_good_order_with_the_token_that_opened_them() -> None:
    made = ledger()
    server = Server("s", auth=Protection(made), limits=Limits(keep_alive=0.02))

    @server.tool
    def hum() -> str:
        return "hm"

    async with serving(server, allowed_hosts=[HOST], sse=True) as site:
        session = await begin(site, "ann")
        lasting = await open_stream(site, "ann", session).begun()
        await lasting.event()
        short = made.tokens["ann"]
        end = time.time() - 1  # just now: clocks that differ a little are forgiven
        made.tokens["ann"] = msgspec.structs.replace(short, expires_at=end)
        message, headers = modern(
            "listen", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
        )
        listening = await site.post(message, {**headers, **bearer("ann")}).begun()
        made.audiences["ann"] = f"http://{HOST}/sse"
        old = await site.open("GET", "/sse", headers={**bearer("ann")}).begun()
        made.audiences["ann"] = f"http://{HOST}/mcp"
        ends = open_stream(site, "ann", await begin_again(site, made, short, end))
        *_, last = await listening.rest()
        assert last["id"] == "listen"
        assert "result" in last
        await old.whole()
        await ends.whole()
        assert ends.status == 200
        assert not lasting.is_complete  # it was opened with a token that lasts
        lasting.disconnect()


async def begin_again(site: Site, made: Ledger, lasting: Any, end: float) -> str:
    made.tokens["ann"] = lasting
    session = await begin(site, "ann")
    made.tokens["ann"] = msgspec.structs.replace(lasting, expires_at=end)
    return session


# --- the state of a call


async def test_the_state_of_a_call_is_nobody_elses() -> None:
    server = Server("s", auth=Protection(ledger()))

    @server.tool
    async def open_safe(ctx: Context) -> str:
        answer = await ctx.elicit("Really?", bool)
        return f"{ctx.principal and ctx.principal.subject} {answer.data}"

    async with serving(server, allowed_hosts=[HOST]) as site:
        meta: Any = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
        message, headers = modern_call(1, "open_safe", meta=meta)
        asked = await site.ask(message, {**headers, **bearer("ann")})
        result = asked.json["result"]
        assert result["resultType"] == "input_required"
        [key] = result["inputRequests"]
        message["params"] |= {
            "requestState": result["requestState"],
            "inputResponses": {key: {"action": "accept", "content": {"value": True}}},
        }
        for other in ("bob", "ann-elsewhere"):
            answer = await site.ask({**message, "id": 2}, {**headers, **bearer(other)})
            assert "requestState" in answer.json["error"]["message"]
        answer = await site.ask({**message, "id": 3}, {**headers, **bearer("ann-refreshed")})
        assert answer.json["result"]["content"][0]["text"] == "ann True"


async def test_nothing_of_it_is_left_open() -> None:
    async with guarded() as site:
        answer = await ask(site, "ann", "tools/list")
        assert answer.status == 200
        await until(lambda: site.endpoint.calls == 0, "all calls are over")
