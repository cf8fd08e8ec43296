import pytest

from wigwag.oauth.fetch_rules import MAX_REDIRECTS, Networks, redirect_refusal
from wigwag.oauth.requests import form_request, get_request
from wigwag.oauth.urls import read_url

URL = "https://as.example/token"

LOOPBACK = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
PRIVATE = [
    "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "fec0::1", "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "0.0.0.0", "::", "::127.0.0.1", "224.0.0.1", "ff02::1", "240.0.0.1", "255.255.255.255",
    "2001:0:53aa:64c::1", "64:ff9b:1::1", "not an address", "",
]  # fmt: skip
PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "64:ff9b::5db8:d70e"]


@pytest.mark.parametrize("address", LOOPBACK + PRIVATE + NEVER)
def test_a_public_server_leads_nowhere_but_to_public_addresses(address: str) -> None:
    networks = Networks.around(read_url("https://mcp.example"), ["93.184.215.14"])
    reason = networks.refusal(URL, [address])
    assert reason is not None
    assert reason.startswith("https://as.example/token leads to")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address: str) -> None:
    assert Networks().refusal(URL, [address]) is None


def test_every_address_of_a_name_must_be_allowed() -> None:
    assert Networks().refusal(URL, [PUBLIC[0], "10.0.0.1"]) is not None
    assert Networks().refusal(URL, [PUBLIC[0], PUBLIC[1]]) is None
    assert Networks().refusal(URL, []) == "https://as.example/token has no address"


@pytest.mark.parametrize("address", LOOPBACK + PRIVATE + PUBLIC)
@pytest.mark.parametrize(
    ("server", "resolved"), [("http://localhost:1", []), ("https://dev.example", ["127.0.0.1"])]
)
def test_a_server_on_this_machine_may_point_to_it(
    server: str, resolved: list[str], address: str
) -> None:
    assert Networks.around(read_url(server), resolved).refusal(URL, [address]) is None


def test_a_server_in_a_private_network_may_point_into_one_but_not_to_this_machine() -> None:
    networks = Networks.around(read_url("https://mcp.corp"), ["10.1.1.1"])
    assert [a for a in PRIVATE if networks.refusal(URL, [a]) is not None] == []
    assert [a for a in LOOPBACK + NEVER if networks.refusal(URL, [a]) is None] == []


@pytest.mark.parametrize("near", ["10.1.1.1", "127.0.0.1", "::1"])
def test_a_server_with_a_public_address_too_may_not_point_to_what_is_near(near: str) -> None:
    networks = Networks.around(read_url("https://mcp.example"), [near, PUBLIC[0]])
    assert networks.refusal(URL, [near]) is not None


@pytest.mark.parametrize("address", NEVER)
def test_even_a_local_server_may_not_point_to_link_local_addresses(address: str) -> None:
    networks = Networks.around(read_url("http://localhost"), [address])
    assert networks.refusal(URL, [address]) is not None


def test_a_host_that_the_user_allows_may_be_anywhere() -> None:
    networks = Networks.around(read_url("https://mcp.example"), [], hosts=["AS.example"])
    assert networks.refusal(URL, ["10.0.0.1"]) is None
    assert networks.refusal("https://other.example", ["10.0.0.1"]) is not None


def test_what_is_no_url_is_not_fetched() -> None:
    assert (Networks().refusal("file:///etc/passwd", PUBLIC) or "").startswith("a URL cannot be")


GET = get_request("https://as.example/.well-known/x")


@pytest.mark.parametrize(
    ("location", "word"),
    [
        ("https://www.as.example/y", None),
        ("/y", None),
        ("http://as.example/y", "not https"),
        ("http://localhost/y", "not https"),
        ("ftp://as.example/y", "cannot be followed"),
        ("//user@as.example/y", "cannot be followed"),
        ("javascript:alert(1)", "cannot be followed"),
    ],
)
def test_a_redirect_is_followed_to_https_only(location: str, word: str | None) -> None:
    reason = redirect_refusal(GET, location, 0)
    assert (word is None) == (reason is None)
    assert word is None or word in (reason or "")


def test_a_redirect_on_this_machine_may_be_http() -> None:
    local = get_request("http://127.0.0.1:1/x")
    assert redirect_refusal(local, "/y", 0) is None
    assert redirect_refusal(local, "https://as.example/", 0) is None
    assert "not https" in (redirect_refusal(local, "http://as.example/", 0) or "")


def test_what_carries_secrets_is_never_redirected() -> None:
    post = form_request("https://as.example/token", {"code": "c"})
    assert "carry secrets" in (redirect_refusal(post, "https://as.example/token2", 0) or "")


def test_redirects_end() -> None:
    assert redirect_refusal(GET, "/y", MAX_REDIRECTS - 1) is None
    assert "after 3 other redirects" in (redirect_refusal(GET, "/y", MAX_REDIRECTS) or "")
