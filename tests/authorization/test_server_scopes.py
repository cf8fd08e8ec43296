"""What somebody with a token may use, and how more is asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.asgi import JSON, Site, hello, legacy, legacy_call, modern, notification, serving
from tests.authorization.protected_server import HOST, Ledger, ask, bearer, call, vault
from wigwag import CacheHint, Client, Context, Protection, Server
from wigwag.oauth.challenges import parse_challenges
from wigwag.schema import LATEST_LEGACY, LATEST_MODERN, PromptReference

pytestmark = pytest.mark.anyio

ROOT = "vault://stock"


def scope_in(answer: Any) -> str:
    (challenge,) = parse_challenges([answer.headers["www-authenticate"]])
    assert challenge.parameters["error"] == "insufficient_scope"
    assert challenge.parameters["resource_metadata"].startswith(f"http://{HOST}/")
    scope: str = challenge.parameters["scope"]
    return scope


def members(answer: Any, member: str, name: str = "name") -> set[str]:
    return {each[name] for each in answer.json["result"][member]}


def ledger() -> Ledger:
    made = Ledger()
    made.issue("reader", "ann", "mcp")
    made.issue("writer", "bob", "mcp", "vault:write")
    made.issue("owner", "eve", "mcp", roles=("owner",))
    return made


@asynccontextmanager
async def guarded(**options: Any) -> AsyncIterator[Site]:
    async with serving(vault(ledger(), scopes=["mcp"]), allowed_hosts=[HOST], **options) as site:
        yield site


async def begin(site: Site, token: str, revision: str = "2025-11-25") -> str:
    answer = await site.ask(hello(revision), {**JSON, **bearer(token)})
    assert answer.status == 200, answer.body
    session: str = answer.headers["mcp-session-id"]
    await site.ask(
        notification("notifications/initialized"), {**JSON, **bearer(token)}, session=session
    )
    return session


async def in_session(site: Site, token: str, message: Any, session: str | None = None) -> Any:
    return await site.ask(
        message, {**JSON, **bearer(token)}, session=session or await begin(site, token)
    )


async def test_what_somebody_may_not_use_is_not_listed() -> None:
    async with guarded() as site:
        tools = {
            token: members(await ask(site, token, "tools/list"), "tools")
            for token in ("reader", "writer", "owner")
        }
        assert tools == {
            "reader": {"who", "take"},
            "writer": {"who", "take", "put"},
            "owner": {"who", "take", "count"},
        }
        assert members(await ask(site, "reader", "resources/list"), "resources", "uri") == {
            "vault://door"
        }
        assert members(await ask(site, "reader", "prompts/list"), "prompts") == set()
        assert members(await ask(site, "writer", "prompts/list"), "prompts") == {"plan"}
        templates = await ask(site, "owner", "resources/templates/list")
        assert members(templates, "resourceTemplates", "uriTemplate") == {"vault://boxes/{name}"}
        listed = await in_session(site, "reader", legacy(1, "tools/list"))
        assert members(listed, "tools") == {"who", "take"}


async def test_using_it_is_a_403_that_names_all_that_is_needed() -> None:
    async with guarded() as site:
        answer = await call(site, "reader", "change_lock")
        assert answer.status == 403
        assert scope_in(answer) == "mcp vault:write vault:keys"
        assert answer.json["id"] == 1
        assert "vault:keys" in answer.json["error"]["message"]
        for about in (
            {"method": "resources/read", "uri": "vault://gold"},
            {"method": "prompts/get", "name": "plan"},
            {
                "method": "completion/complete",
                "ref": {"type": "ref/prompt", "name": "plan"},
                "argument": {"name": "what", "value": ""},
            },
        ):
            method = str(about.pop("method"))
            answer = await ask(site, "reader", method, **about)
            assert (answer.status, scope_in(answer)) == (403, "mcp vault:write"), method
            session = await in_session(site, "reader", legacy(1, method, about))
            assert (session.status, scope_in(session)) == (403, "mcp vault:write"), method
        answer = await ask(site, "writer", "resources/read", uri="vault://gold")
        assert answer.status == 200


@pytest.mark.parametrize("options", [{}, {"streams": True}, {"sessions": False}])
async def test_it_is_a_status_in_sessions_and_where_the_answer_would_be_a_stream(
    options: dict[str, Any],
) -> None:
    async with guarded(**options) as site:
        session = None
        if options.get("sessions", True):
            session = await begin(site, "reader")
        headers = {**JSON, **bearer("reader"), "mcp-protocol-version": "2025-11-25"}
        for number, name in enumerate(("put", "change_lock")):
            message = legacy_call(number, name, {"what": "gold"})
            answer = await site.ask(message, headers, session=session)
            assert answer.status == 403, answer.body
            assert scope_in(answer).startswith("mcp vault:write")
            answer = await call(site, "reader", name, {"what": "gold"})
            assert answer.status == 403


async def test_a_middleware_that_takes_its_time_does_not_make_it_too_late() -> None:
    server = vault(ledger(), scopes=["mcp"])

    @server.middleware
    async def slow(ctx: Context, call_next: Any) -> Any:
        ctx.log("debug", "it begins")
        await asyncio.sleep(0)
        return await call_next(ctx)

    async with serving(server, allowed_hosts=[HOST], streams=True) as site:
        session = await begin(site, "reader")
        message = legacy_call(1, "change_lock")
        answer = await in_session(site, "reader", message, session)
        assert (answer.status, scope_in(answer)) == (403, "mcp vault:write vault:keys")
        answer = await call(site, "reader", "change_lock")
        assert answer.status == 403
        answer = await call(site, "writer", "put", {"what": "gold"})
        assert answer.status == 200


async def test_scopes_can_depend_on_arguments() -> None:
    async with guarded() as site:
        assert (await call(site, "reader", "take", {"what": "tin"})).status == 200
        answer = await call(site, "reader", "take", {"what": "gold"})
        assert (answer.status, scope_in(answer)) == (403, "mcp vault:write vault:gold")
        message = legacy_call(1, "take", {"what": "gold"})
        answer = await in_session(site, "reader", message)
        assert (answer.status, scope_in(answer)) == (403, "mcp vault:write vault:gold")


async def test_when_something_has_been_sent_it_is_an_error_on_the_stream() -> None:
    server = Server("s", auth=Protection(ledger()))

    @server.tool
    async def late(ctx: Context) -> str:
        await ctx.report_progress(1)
        await asyncio.sleep(0)
        ctx.require_scopes("vault:gold")
        return "gold"

    async with serving(server, allowed_hosts=[HOST]) as site:
        session = await begin(site, "reader")
        message = legacy_call(1, "late", token="p")
        answer = await in_session(site, "reader", message, session)
        assert answer.status == 200
        *_, last = await answer.rest()
        assert "vault:gold" in last["error"]["message"]
        assert "www-authenticate" not in answer.headers


async def test_in_an_array_the_others_are_answered() -> None:
    async with guarded() as site:
        session = await begin(site, "reader", "2025-03-26")
        both = [legacy_call(1, "put", {"what": "x"}), legacy_call(2, "who")]
        answer = await site.ask(both, {**JSON, **bearer("reader")}, session=session)
        assert answer.status == 200
        answers = answer.json if not answer.is_stream else await answer.rest()
        by_id = {each["id"]: each for each in answers}
        assert "vault:write" in by_id[1]["error"]["message"]
        assert by_id[2]["result"]["content"][0]["text"] == "ann"


async def test_without_the_role_it_is_not_there_and_no_token_is_asked_for() -> None:
    async with guarded() as site:
        answer = await call(site, "reader", "count")
        assert answer.status == 200
        assert "Unknown tool: 'count'" in answer.json["error"]["message"]
        assert "www-authenticate" not in answer.headers
        answer = await ask(site, "reader", "resources/read", uri="vault://boxes/7")
        assert "not found" in answer.json["error"]["message"]
        answer = await call(site, "owner", "count")
        assert answer.json["result"]["content"][0]["text"] == "7"


async def test_nobody_subscribes_to_what_they_may_not_read() -> None:
    async with guarded() as site:
        for uri, status in (("vault://gold", 403), ("vault://boxes/7", 200)):
            answer = await in_session(
                site, "reader", legacy(1, "resources/subscribe", {"uri": uri})
            )
            assert answer.status == status
            assert "error" in answer.json
            listening = await ask(
                site,
                "reader",
                "subscriptions/listen",
                notifications={"resourceSubscriptions": [uri]},
            )
            assert listening.status in (status, 400), listening.body
            assert "error" in listening.json
        answer = await in_session(
            site, "reader", legacy(1, "resources/subscribe", {"uri": "vault://door"})
        )
        assert answer.status == 200


async def test_lists_that_differ_are_private_to_whoever_asked() -> None:
    hint = CacheHint(60_000, "public")
    server = Server("s", auth=Ledger(), cache_hints={"tools/list": hint, "resources/list": hint})
    assert isinstance(server.protection, Protection)

    @server.tool(scopes=["a"])
    def first() -> str:
        return ""

    @server.resource("s://open", cache=hint)
    def is_open() -> str:
        return ""

    @server.resource("s://shut", cache=hint, scopes=["a"])
    def is_shut() -> str:
        return ""

    async with Client(server, mode=LATEST_MODERN) as client:
        assert (await client.list_tools()).cache_scope == "private"
        assert (await client.list_resources()).cache_scope == "private"
        assert (await client.read_resource("s://open")).cache_scope == "public"
        assert (await client.read_resource("s://shut")).cache_scope == "private"


@pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST_MODERN])
async def test_over_other_transports_everything_may_be_used(revision: str) -> None:
    async with Client(vault(ledger(), scopes=["mcp"]), mode=revision) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"who", "take", "put", "change_lock", "count"}
        assert (await client.call_tool("change_lock")).text == "changed"
        assert (await client.call_tool("count")).text == "7"
        assert (await client.call_tool("take", {"what": "gold"})).text == "gold"
        assert (await client.call_tool("who")).text == "nobody"
        found = await client.complete(PromptReference(name="plan"), "what", "")
        assert found.completion.values == ["gold"]


async def test_a_mounted_server_is_held_to_what_the_outer_one_asks() -> None:
    outer = Server("outer", auth=Protection(ledger(), scopes=["mcp"]))
    inner = Server("inner")

    @inner.tool(scopes=["vault:write"])
    async def put(ctx: Context) -> str:
        assert ctx.principal is not None
        return ctx.principal.subject

    outer.mount(inner, prefix="in")
    async with serving(outer, allowed_hosts=[HOST]) as site:
        assert (await call(site, "reader", "in_put")).status == 403
        answer = await call(site, "writer", "in_put")
        assert answer.json["result"]["content"][0]["text"] == "bob"


async def test_mounting_does_not_take_a_protection_away() -> None:
    outer = Server("outer")
    outer.mount(Server("inner", auth=Ledger()))
    with pytest.raises(ValueError, match="inner is protected and mounted at outer, which is not"):
        outer.http_app()


@pytest.mark.broken_messages("client")
async def test_notifications_and_middleware_know_who_sends_them() -> None:
    heard: list[str] = []
    is_heard = asyncio.Event()
    server = vault(ledger(), scopes=["mcp"])

    @server.notification("com.example/moved")
    async def moved(ctx: Context) -> None:
        assert ctx.principal is not None
        heard.append(ctx.principal.subject)
        is_heard.set()

    async with serving(server, allowed_hosts=[HOST]) as site:
        session = await begin(site, "reader")
        answer = await site.ask(
            notification("com.example/moved"), {**JSON, **bearer("reader")}, session=session
        )
        assert answer.status == 202
        async with asyncio.timeout(30):
            await is_heard.wait()
        assert heard == ["ann"]


def test_scopes_and_roles_are_lists_of_what_can_be_some() -> None:
    server = Server("s")
    with pytest.raises(TypeError, match=r"`scopes` are several: write \['a'\]"):
        server.tool(name="x", scopes="a")(lambda: None)
    with pytest.raises(TypeError, match=r"`roles` are several"):
        server.tool(name="x", roles="a")(lambda: None)
    with pytest.raises(ValueError, match="'a b' is no scope"):
        server.tool(name="x", scopes=["a b"])(lambda: None)


async def test_nobody_hears_of_changes_to_what_they_may_not_read() -> None:
    made = ledger()
    server = vault(made, scopes=["mcp"])

    def open_streams(site: Site, token: str, session: str) -> list[Any]:
        listen, headers = modern(
            "listen", "subscriptions/listen", {"notifications": {"resourceSubscriptions": [ROOT]}}
        )
        get = {"accept": "text/event-stream", "mcp-session-id": session, **bearer(token)}
        return [
            site.post(listen, {**headers, **bearer(token)}),
            site.open("GET", headers=get),
        ]

    async with serving(server, allowed_hosts=[HOST]) as site:

        @server.resource(ROOT)
        def everything() -> str:
            return ""

        @server.resource(f"{ROOT}/gold", scopes=["vault:write"])
        def gold() -> str:
            return "gold"

        streams = {}
        for token in ("reader", "writer"):
            session = await begin(site, token)
            message = legacy(1, "resources/subscribe", {"uri": ROOT})
            assert (await in_session(site, token, message, session)).status == 200
            streams[token] = open_streams(site, token, session)
            for stream in streams[token]:
                await stream.event()
        for uri in (f"{ROOT}/gold", f"{ROOT}/tin"):
            server.resource_updated(uri)
        heard = {"reader": ["tin"], "writer": ["gold", "tin"]}
        for token, names in heard.items():
            for stream in streams[token]:
                uris = [(await stream.message())["params"]["uri"] for _ in names]
                assert uris == [f"{ROOT}/{name}" for name in names]
                stream.disconnect()
