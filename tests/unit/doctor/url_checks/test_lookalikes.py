import pytest

from wigwag.doctor.url_checks.lookalikes import misspelt_scheme


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("htp://a.example/mcp", "write http://a.example/mcp"),
        ("https:/a.example/mcp", "write https://a.example/mcp"),
        ("htps://a.example:8443/mcp?x=1", "write https://a.example:8443/mcp?x=1"),
        ("a.example/mcp", "write https://a.example/mcp"),
        ("server:8000/mcp", "write https://server:8000/mcp"),
        ("localhost:8000/mcp", "write http://localhost:8000/mcp"),
        ("sse://a.example/sse", "write https://a.example/sse"),
        ("'http://a.example/mcp'", "write http://a.example/mcp"),
        ("wss://a.example/mcp", "MCP does not use WebSockets: write https://a.example/mcp"),
        ("ws://a.example/mcp", "MCP does not use WebSockets: write http://a.example/mcp"),
    ],
)
def test_a_misspelt_url_is_told_as_it_was_meant(written: str, meant: str) -> None:
    assert misspelt_scheme(written) == meant


@pytest.mark.parametrize("text", ["", "not a url", "https://me:pw@a.example/", "file:///etc/x y"])
def test_what_has_no_meaning_is_told_nothing_of(text: str) -> None:
    assert misspelt_scheme(text) is None
