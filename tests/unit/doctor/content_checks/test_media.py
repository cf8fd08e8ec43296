from typing import Any

import pytest

from wigwag.doctor.content_checks.media import check_icons, check_mime_type


@pytest.mark.parametrize(
    "given",
    [
        "text/plain",
        "image/svg+xml",
        "application/vnd.api+json",
        "text/html; charset=utf-8",
        'text/html;profile="mcp app"',
        "text/html;profile=mcp-app",
        None,
        3,
    ],
)
def test_mime_types_are_taken(given: Any) -> None:
    assert list(check_mime_type({"mimeType": given}, "x")) == []


@pytest.mark.parametrize("given", [".txt", "text", "text/", "/plain", "text/plain charset", ""])
def test_what_is_no_mime_type_is_told(given: str) -> None:
    [finding] = check_mime_type({"mimeType": given}, "docs://a")
    assert finding.code == "mime-type-malformed"
    assert finding.evidence == f"mimeType {given!r}"
    assert finding.subject == "docs://a"


@pytest.mark.parametrize(
    "icon",
    [
        {"src": "https://example.com/a.png", "mimeType": "image/png", "sizes": ["48x48", "any"]},
        {"src": "data:image/svg+xml;base64,AAAA"},
        {"src": "HTTPS://example.com/a"},
    ],
)
def test_icons_that_hosts_show_are_taken(icon: Any) -> None:
    assert list(check_icons({"icons": [icon]}, "x")) == []


@pytest.mark.parametrize(
    ("icon", "evidence"),
    [
        ({"src": "http://example.com/a.png"}, "src 'http://example.com/a.png' is neither"),
        ({"src": "a.png"}, "src 'a.png' is neither"),
        ({"src": "data:text/html,hello"}, "src 'data:text/html,hello'… is no image"),
        ({"src": "https://e.com/a", "mimeType": "image/x-icon"}, "mimeType 'image/x-icon'"),
        ({"src": "https://e.com/a", "sizes": ["48"]}, "sizes '48'"),
    ],
)
def test_an_icon_that_hosts_do_not_show_is_told(icon: Any, evidence: str) -> None:
    [finding] = check_icons({"icons": [icon]}, "x")
    assert finding.code == "icon-unusable"
    assert finding.evidence.startswith(evidence)


@pytest.mark.parametrize("icons", [None, "a", [None], [{}], [{"src": 3}]])
def test_what_is_malformed_is_told_elsewhere(icons: Any) -> None:
    assert list(check_icons({"icons": icons}, "x")) == []
