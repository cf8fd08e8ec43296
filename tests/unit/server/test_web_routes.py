"""Pages beside the endpoint, and the names of the official SDK for an application."""

import builtins
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tests.asgi import Call, Site, modern_call, serving
from wigwag import Server

pytestmark = pytest.mark.anyio


def gallery() -> Server:
    server = Server("gallery", version="1.0.0")

    @server.tool
    def hang(picture: str) -> str:
        return f"{picture} hangs"

    @server.custom_route("/pictures/{name}", methods=["GET", "PUT"])
    async def picture(request: Request) -> Response:
        return PlainTextResponse(f"{request.method} {request.path_params['name']}")

    @server.custom_route("/up")
    async def up(request: Request) -> Response:
        return JSONResponse({"host": request.headers["host"]})

    return server


async def hung(site: Site, path: str, **headers: str) -> Call:
    message, own = modern_call(1, "hang", {"picture": "Dunes"})
    body = json.dumps(message).encode()
    return await site.open("POST", path, headers={**own, **headers}, body=body).whole()


async def test_pages_are_served_beside_the_endpoint() -> None:
    async with serving(gallery()) as site:
        page = await site.open("PUT", "/pictures/dunes").whole()
        assert (page.status, page.body) == (200, b"PUT dunes")
        assert (await hung(site, "/mcp")).status == 200
        assert (await site.open("POST", "/pictures/dunes").whole()).status == 405
        assert (await site.open("GET", "/pictures").whole()).status == 404


async def test_pages_are_below_the_prefix_of_what_is_mounted() -> None:
    async with serving(gallery()) as site:
        page = await site.open("GET", "/art/pictures/dunes", root_path="/art").whole()
        assert (page.status, page.body) == (200, b"GET dunes")


async def test_pages_answer_whoever_asks_as_probes_know_no_names() -> None:
    async with serving(gallery(), host="127.0.0.1") as site:
        page = await site.open("GET", "/up", headers={"host": "10.0.0.7:8080"}).whole()
        assert page.json == {"host": "10.0.0.7:8080"}
        assert (await hung(site, "/mcp", host="10.0.0.7:8080")).status == 403


async def test_a_page_can_be_added_while_the_server_runs() -> None:
    server = Server("gallery", version="1.0.0")
    async with serving(server) as site:
        assert (await site.open("GET", "/late").whole()).status == 404

        @server.custom_route("/late")
        async def late(request: Request) -> Response:
            return PlainTextResponse("here")

        assert (await site.open("GET", "/late").whole()).body == b"here"


def test_without_starlette_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("starlette"):
            raise ImportError(name)
        return load(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuntimeError, match="custom_route needs Starlette: pip install starlette"):
        Server("gallery").custom_route("/up")
