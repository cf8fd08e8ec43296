import aiohttp
import httpx2
import pytest

from wigwag.transports.http_client_engine import is_same_origin, library_of, public_url


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("http://localhost/mcp", "http://localhost/mcp"),
        ("https://me:pw@example.com:8443/mcp?key=1#x", "https://example.com:8443/mcp"),
        ("https://me:p@w@[::1]:1/", "https://[::1]:1/"),
    ],
)
def test_what_may_be_secret_is_not_public(url: str, public: str) -> None:
    assert public_url(url) == public


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("http://a/x", "http://a/y?z", True),
        ("http://a", "http://A:80/", True),
        ("https://a:443/", "https://a/", True),
        ("https://me:pw@a/", "https://a/", True),
        ("http://a/", "https://a/", False),
        ("https://a/", "http://a:443/", False),
        ("http://a/", "http://b/", False),
        ("http://a/", "http://a.b/", False),
        ("http://a:1/", "http://a:2/", False),
        ("http://a/", "http://a:port/", False),
        ("http://a/", "/x", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, is_same: bool) -> None:  # noqa: FBT001
    assert is_same_origin(one, other) is is_same
    assert is_same_origin(other, one) is is_same


class Mine(httpx2.AsyncClient):
    """A client that somebody has made from another."""


def test_the_library_is_told_from_the_class() -> None:
    # Not made: they would have to be closed.
    assert library_of(Mine.__new__(Mine)) == "httpx2"
    assert library_of(aiohttp.ClientTimeout()) == "aiohttp"
    with pytest.raises(TypeError, match=r"is an aiohttp\.ClientSession or .* not dict"):
        library_of({})
