"""Tests of the metadata documents of clients, with one that is really hosted."""

import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme

from tests.interaction.http_server import HttpRequest, HttpServer
from wigwag.client.authorization.client_document import (
    check_client_document,
    create_client_document,
)
from wigwag.errors import AuthorizationFailed, AuthorizationUntrusted

pytestmark = pytest.mark.anyio

URL = "https://app.example/client.json"
AUTHORITY = trustme.CA()


class Host(HttpServer):
    """Hosts one document."""

    def __init__(self) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert("localhost").configure_cert(tls)
        super().__init__(tls=tls)
        self.status = 200
        self.body = b""
        self.kind = "application/json; charset=utf-8"

    @property
    def document_url(self) -> str:
        return f"https://localhost:{self.port}/client.json"

    async def handle(self, request: HttpRequest) -> None:
        await request.answer(self.status, self.body, kind=self.kind)

    async def faults(self, expected: Any = None) -> list[str]:
        trusting = ssl.create_default_context()
        AUTHORITY.configure_trust(trusting)
        return await check_client_document(
            self.document_url, expected, ssl=trusting, allowed_hosts=["LOCALHOST"]
        )


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    async with Host() as made:
        made.body = create_client_document(made.document_url, client_name="Mine").encode()
        yield made


def test_a_document_is_for_any_port_of_the_machine_of_the_user() -> None:
    assert json.loads(create_client_document(URL, client_name="Caf\u00e9")) == {
        "client_id": URL,
        "client_name": "Caf\u00e9",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    assert "Caf\u00e9" in create_client_document(URL, client_name="Caf\u00e9")


def test_a_url_that_can_be_no_id_is_refused() -> None:
    with pytest.raises(ValueError, match="is https and has a path"):
        create_client_document("http://app.example/client.json", client_name="Mine")


async def test_what_is_hosted_as_it_should_be_has_no_faults(host: Host) -> None:
    assert await host.faults() == []
    assert await host.faults(host.body.decode()) == []
    assert await host.faults(json.loads(host.body)) == []


async def test_what_differs_from_what_should_be_there_is_named(host: Host) -> None:
    wanted = create_client_document(host.document_url, client_name="Other", client_uri=URL)
    assert await host.faults(wanted) == [
        "client_name is not what it should be",
        "client_uri is not what it should be",
    ]


async def test_what_authorization_servers_would_not_take_is_named(host: Host) -> None:
    host.kind = "text/html"
    host.body = json.dumps({**json.loads(host.body), "client_id": URL, "x": "y" * 6000}).encode()
    faults = await host.faults()
    assert [fault.partition(" ")[0] for fault in faults] == ["client_id", "its", "it"]
    assert faults[1] == "its type must be application/json: it is text/html"
    assert faults[2].endswith("bytes: more than 5120 may not be read")
    host.body = b"<html>"
    assert await host.faults() == ["it is no JSON object"]


async def test_what_is_not_there_is_an_error(host: Host) -> None:
    host.status = 404
    with pytest.raises(AuthorizationFailed, match=r"the document is not there: status 404"):
        await host.faults()


async def test_a_place_that_nobody_else_can_see_is_refused(host: Host) -> None:
    with pytest.raises(AuthorizationUntrusted, match="this machine"):
        await check_client_document(host.document_url)


@pytest.mark.parametrize("expected", ["[]", "{"])
async def test_only_an_object_can_be_expected(expected: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - JSON has its own words
        await check_client_document(URL, expected)
