import pytest

from wigwag.transports.http_client_aiohttp import proxy_of

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def test_without_a_word_of_the_environment_there_is_no_proxy() -> None:
    assert proxy_of("http://example.com/mcp") is None


def test_the_proxy_goes_by_the_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    assert proxy_of("https://example.com/mcp") == "http://proxy:1"
    assert proxy_of("http://example.com/mcp") is None
    monkeypatch.setenv("ALL_PROXY", "http://proxy:2")
    assert proxy_of("http://example.com/mcp") == "http://proxy:2"


@pytest.mark.parametrize("rule", ["example.com", ".com", "a.b,example.com:8443", "*"])
def test_what_wants_no_proxy_gets_none(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:1")
    monkeypatch.setenv("no_proxy", rule)
    assert proxy_of("https://me:pw@example.com:8443/mcp") is None
    monkeypatch.setenv("no_proxy", "elsewhere.org")
    assert proxy_of("https://example.com:8443/mcp") == "http://proxy:1"
