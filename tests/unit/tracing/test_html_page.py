"""The page that shows a recording, as a file; tests/interop looks at it in a browser."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from tests.unit.tracing.recordings import Told
from wigwag.tracing.html_page import recording_page


class Seen(HTMLParser):
    """What a parser of HTML makes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self._script = dict(attrs).get("id") or "program"
            self.scripts[self._script] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts[self._script] += data


def test_all_that_was_said_is_in_the_page() -> None:
    told = Told()
    told.greets()
    told.asks(1, "tools/call", {"name": "say", "arguments": {"text": "a < b & Đ $x </script>"}})
    seen = Seen(recording_page(told.recording))
    rows = [json.loads(line) for line in seen.scripts["rows"].strip().split("\n")]
    assert [row["label"] for row in rows][-2:] == ["notifications/initialized", "tools/call"]
    assert rows[-1]["raw"]["params"]["arguments"] == {"text": "a < b & Đ $x </script>"}
    assert json.loads(seen.scripts["about"])["server"] == "library 2.0"


def test_the_page_loads_nothing_from_anywhere() -> None:
    told = Told(transport="http", target="https://example.com/mcp")
    told.asks(1, "ping")
    page = recording_page(told.recording)
    seen = Seen(page)
    for tag, attributes in seen.tags:
        for name in ("src", "href"):
            assert (attributes.get(name) or "data:").startswith("data:"), (tag, attributes)
    assert "url(" not in page
    assert "@import" not in page


def test_nothing_else_than_the_program_of_the_page_can_run_in_it() -> None:
    told = Told(target=["<script>alert(1)</script>", "--x='\"'"])
    told.says("server", b'{"jsonrpc":"2.0","method":"<!--<script>","params":{"x":"</script><b>"}}')
    page = recording_page(told.recording)
    seen = Seen(page)
    assert [tag for tag, _ in seen.tags].count("script") == 3
    assert "b" not in [tag for tag, attributes in seen.tags if not attributes]
    digest = base64.b64encode(hashlib.sha256(seen.scripts["program"].encode()).digest()).decode()
    policy = next(a["content"] for _, a in seen.tags if a.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert re.search(r"<title>&lt;script&gt;", page) is None
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_line_ends_within_a_message_do_not_break_its_row() -> None:
    told = Told()
    told.says("server", b'{"jsonrpc":"2.0",\r\n "method":"x"}')
    rows = Seen(recording_page(told.recording)).scripts["rows"].strip().split("\n")
    assert len(rows) == 1
    assert json.loads(rows[0])["label"] == "x"
