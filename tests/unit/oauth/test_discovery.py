import pytest

from tests.unit.oauth.world import ISSUER, PRM, SERVER, World, json_response
from wigwag.errors import (
    AuthorizationFailed,
    AuthorizationUnavailable,
    AuthorizationUntrusted,
)
from wigwag.oauth.discovery import (
    find_authorization_server,
    find_legacy_server,
    find_protected_resource,
)
from wigwag.oauth.metadata import AuthorizationServer, ProtectedResource
from wigwag.oauth.requests import HttpResponse
from wigwag.oauth.urls import read_url

ROOT = "https://mcp.example/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
MINE = {"resource": SERVER, "authorization_servers": [ISSUER]}
PAGE = HttpResponse(200, (), b"<html>welcome</html>")
DOWN = HttpResponse(503)


def empty() -> World:
    world = World()
    world.servers.clear()
    world.resource = None
    return world


def resource(world: World, metadata_url: str | None = None) -> ProtectedResource | None:
    flow = find_protected_resource(read_url(SERVER), metadata_url, "2025-11-25")
    return world.run(flow)


def server(world: World, issuer: str = ISSUER, *, is_strict: bool = True) -> AuthorizationServer:
    return world.run(find_authorization_server(issuer, read_url(SERVER), is_strict=is_strict))


def test_the_root_is_asked_only_when_there_is_nothing_at_the_path() -> None:
    world = empty()
    world.documents[PRM] = json_response(MINE)
    assert resource(world) is not None
    assert world.urls == [PRM]
    world = empty()
    world.documents[ROOT] = json_response({**MINE, "resource": "https://mcp.example"})
    found = resource(world)
    assert found is not None
    assert found.resource == "https://mcp.example"
    assert world.urls == [PRM, ROOT]
    assert {r.headers["mcp-protocol-version"] for r in world.requests} == {"2025-11-25"}


def test_a_page_for_people_is_no_metadata() -> None:
    world = empty()
    world.documents = {PRM: PAGE, ROOT: json_response(MINE)}
    assert resource(world) is not None
    world.documents[ROOT] = PAGE
    assert resource(world) is None


def test_where_the_server_says_its_metadata_is_nothing_else_is_asked() -> None:
    world = empty()
    world.documents = {PRM: json_response(MINE), "https://mcp.example/x": json_response(MINE)}
    assert resource(world, "https://mcp.example/x") is not None
    assert world.urls == ["https://mcp.example/x"]
    with pytest.raises(AuthorizationFailed, match=r"no metadata where .*mcp\.example/gone"):
        resource(world, "https://mcp.example/gone?x=1")
    assert PRM not in world.urls


def test_another_host_is_not_told_the_revision() -> None:
    world = empty()
    world.documents["https://docs.example/x"] = json_response(MINE)
    assert resource(world, "https://docs.example/x") is not None
    assert "mcp-protocol-version" not in world.requests[0].headers


@pytest.mark.parametrize(
    "url", ["http://mcp.example/x", "http://169.254.169.254/x", "file:///etc/passwd", "/x", ""]
)
def test_metadata_is_fetched_by_https_only(url: str) -> None:
    world = empty()
    with pytest.raises(AuthorizationUntrusted, match="is not https"):
        resource(world, url)
    assert world.requests == []


def test_metadata_of_another_resource_is_not_made_up_for_by_the_root() -> None:
    world = empty()
    evil = json_response({**MINE, "resource": "https://evil.example"})
    world.documents = {PRM: evil, ROOT: json_response(MINE)}
    with pytest.raises(AuthorizationUntrusted):
        resource(world)
    assert world.urls == [PRM]


def test_a_server_that_is_down_is_not_taken_for_one_without_metadata() -> None:
    world = empty()
    world.documents = {PRM: DOWN}
    with pytest.raises(AuthorizationUnavailable, match="metadata of the MCP server cannot be had"):
        resource(world)
    world.documents = {PRM: DOWN, ROOT: json_response(MINE)}
    assert resource(world) is not None
    world.documents = {}
    assert resource(world) is None


# --- authorization servers


def test_an_authorization_server_is_looked_for_in_the_order_of_the_specification() -> None:
    world = empty()
    issuer = f"{ISSUER}/t"
    last = f"{ISSUER}/t{OPENID}"
    world.documents[last] = json_response({"issuer": issuer})
    assert server(world, issuer).issuer == issuer
    assert world.urls == [f"{ISSUER}{OAUTH}/t", f"{ISSUER}{OPENID}/t", last]
    world.requests.clear()
    world.documents[f"{ISSUER}{OAUTH}/t"] = json_response({"issuer": issuer})
    server(world, issuer)
    assert world.urls == [f"{ISSUER}{OAUTH}/t"]


def test_an_authorization_server_without_metadata_is_told_apart_from_one_that_is_down() -> None:
    world = empty()
    with pytest.raises(AuthorizationFailed, match=r"has no metadata \(https://as\.example\)"):
        server(world)
    world.documents[f"{ISSUER}{OAUTH}"] = DOWN
    with pytest.raises(AuthorizationUnavailable, match="authorization server cannot be had"):
        server(world)
    world.documents[f"{ISSUER}{OPENID}"] = json_response({"issuer": ISSUER})
    assert server(world).issuer == ISSUER


def test_a_document_of_another_issuer_is_not_used_but_the_next_one_may_be() -> None:
    world = empty()
    world.documents[f"{ISSUER}{OAUTH}"] = json_response(
        {"issuer": "https://evil.example", "token_endpoint": "https://evil.example/token"}
    )
    with pytest.raises(AuthorizationUntrusted, match=r"that of https://evil\.example"):
        server(world)
    world.documents[f"{ISSUER}{OPENID}"] = json_response({"issuer": ISSUER})
    assert server(world).token_endpoint is None


def test_a_lenient_client_can_be_asked_for() -> None:
    world = empty()
    world.documents[f"{ISSUER}{OAUTH}"] = json_response({"issuer": f"{ISSUER}/"})
    assert server(world, is_strict=False).issuer == f"{ISSUER}/"


# --- servers of 2025-03-26


def legacy(world: World) -> AuthorizationServer:
    return world.run(find_legacy_server(read_url("https://mcp.example/v1/mcp"), "2025-03-26"))


@pytest.mark.parametrize("issuer", ["https://mcp.example", "https://mcp.example/"])
def test_an_old_server_has_its_metadata_at_the_root(issuer: str) -> None:
    world = empty()
    world.documents[f"https://mcp.example{OAUTH}"] = json_response(
        {"issuer": issuer, "token_endpoint": "https://mcp.example/oauth/token"}
    )
    found = legacy(world)
    assert (found.issuer, found.is_presumed) == (issuer, False)
    assert world.urls == [f"https://mcp.example{OAUTH}"]
    assert world.requests[0].headers["mcp-protocol-version"] == "2025-03-26"


def test_defaults_are_taken_only_if_there_is_certainly_no_metadata() -> None:
    world = empty()
    assert legacy(world).is_presumed
    world.documents[f"https://mcp.example{OAUTH}"] = DOWN
    with pytest.raises(AuthorizationUnavailable):
        legacy(world)
    world.documents[f"https://mcp.example{OAUTH}"] = json_response({"issuer": ISSUER})
    with pytest.raises(AuthorizationUntrusted):
        legacy(world)
