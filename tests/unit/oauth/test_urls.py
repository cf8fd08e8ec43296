import pytest

from wigwag.oauth.urls import canonical_resource, is_resource_of, is_usable, read_url, shown

HTTPS = read_url("https://mcp.example/mcp")
LOCAL = read_url("http://127.0.0.1:8765/mcp")


def test_a_url_is_taken_apart() -> None:
    url = read_url("HTTPS://Host.Example:8443/a/b/?q=1#f")
    assert (url.scheme, url.host, url.port, url.path) == ("https", "host.example", 8443, "/a/b/")
    assert (url.query, url.fragment, url.origin, url.bare_path) == (
        "q=1",
        "f",
        "https://host.example:8443",
        "/a/b",
    )
    assert read_url("http://[::1]:80/").origin == "http://[::1]"
    assert read_url("https://host.example.").host == "host.example"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mcp.example",
        "//mcp.example",
        "ftp://mcp.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "https://user@mcp.example",
        "https://user:word@mcp.example",
        "https://good.example@evil.example/",
        "https://evil.example\\@good.example/",
        "https://mcp.example/a b",
        "https://mcp.example/\n",
        "https://mcp.exa\tmple/",
        " https://mcp.example",
        "https://mcp.exämple/",
        "https://mcp.example:99999/",
        "https://mcp.example:x/",
        "https://mcp%2eexample/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://[v1.a]/",
        "https://mcp.example/<",
        f"https://mcp.example/{'a' * 5000}",
    ],
)
def test_what_can_be_read_in_two_ways_is_no_url(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - some of it is said by the library
        read_url(text)
    assert not is_usable(text, LOCAL)
    assert shown(text) == "an unreadable URL"


def test_plain_http_is_for_this_machine_alone() -> None:
    for host in ("localhost", "a.localhost", "127.0.0.1", "127.9.9.9", "[::1]"):
        assert is_usable(f"http://{host}:1/token", LOCAL)
        assert not is_usable(f"http://{host}:1/token", HTTPS)
    for host in ("as.example", "10.0.0.1", "localhost.evil.example", "0.0.0.0", "127.1"):
        assert not is_usable(f"http://{host}/token", LOCAL)
    assert is_usable("https://as.example/token", HTTPS)
    assert not is_usable("https://as.example/token#x", HTTPS)


def test_what_may_be_secret_is_not_part_of_the_canonical_resource() -> None:
    assert canonical_resource(read_url("https://MCP.example:443/")) == "https://mcp.example"
    assert canonical_resource(read_url("https://a.example:8443/m/?key=1#f")) == (
        "https://a.example:8443/m"
    )


@pytest.mark.parametrize(
    ("resource", "is_one"),
    [
        ("https://mcp.example/mcp", True),
        ("https://mcp.example/mcp/", True),
        ("https://MCP.EXAMPLE:443/mcp", True),
        ("https://mcp.example", True),
        ("https://mcp.example/", True),
        ("https://mcp.example/mc", False),
        ("https://mcp.example/mcp/x", False),
        ("https://mcp.example/MCP", False),
        ("https://mcp.example/other", False),
        ("https://mcp.example:8443/mcp", False),
        ("http://mcp.example/mcp", False),
        ("https://evil.example/mcp", False),
        ("https://mcp.example.evil.example/mcp", False),
        ("https://mcp.example@evil.example/mcp", False),
        ("https://mcp.example/mcp#x", False),
        ("https://mcp.example/mcp?x=1", False),
        ("mcp.example/mcp", False),
        ("", False),
    ],
)
def test_a_resource_is_the_server_or_what_holds_it(resource: str, is_one: bool) -> None:  # noqa: FBT001
    assert is_resource_of(resource, HTTPS) is is_one


def test_a_resource_above_the_server_holds_it_at_a_slash_only() -> None:
    server = read_url("https://mcp.example/team/one?x=1")
    assert is_resource_of("https://mcp.example/team", server)
    assert is_resource_of("https://mcp.example/team/one?x=1", server)
    assert not is_resource_of("https://mcp.example/team/on", server)
    assert not is_resource_of("https://mcp.example/team/one?x=2", server)


def test_of_a_url_only_the_place_is_shown() -> None:
    assert shown("https://a.example/b?code=secret#x") == "https://a.example/b"
