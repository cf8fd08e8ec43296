import pytest

from wigwag.oauth.urls import read_url
from wigwag.oauth.well_known import resource_metadata_urls, server_metadata_urls

RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("server", "paths"),
    [
        ("https://a.example/public/mcp?key=1", [f"{RESOURCE}/public/mcp", RESOURCE]),
        ("https://a.example/mcp/", [f"{RESOURCE}/mcp", RESOURCE]),
        ("https://a.example/", [RESOURCE]),
        ("https://a.example", [RESOURCE]),
    ],
)
def test_metadata_of_a_server_is_looked_for_at_its_path_and_then_at_the_root(
    server: str, paths: list[str]
) -> None:
    expected = [f"https://a.example{path}" for path in paths]
    assert list(resource_metadata_urls(read_url(server))) == expected


@pytest.mark.parametrize("issuer", ["https://a.example/tenant1", "https://a.example/tenant1/"])
def test_metadata_of_an_issuer_with_a_path_is_looked_for_in_three_places(issuer: str) -> None:
    assert server_metadata_urls(read_url(issuer)) == (
        f"https://a.example{OAUTH}/tenant1",
        f"https://a.example{OPENID}/tenant1",
        f"https://a.example/tenant1{OPENID}",
    )


@pytest.mark.parametrize("issuer", ["https://a.example:8443", "https://a.example:8443/"])
def test_metadata_of_an_issuer_without_a_path_is_looked_for_in_two(issuer: str) -> None:
    root = "https://a.example:8443"
    assert server_metadata_urls(read_url(issuer)) == (f"{root}{OAUTH}", f"{root}{OPENID}")
