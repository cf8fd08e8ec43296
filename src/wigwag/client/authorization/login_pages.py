"""What a browser is shown that comes back from an authorization server.

Nothing of the request is in it, and nothing is loaded from anywhere.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

import msgspec

__all__ = [
    "DONE",
    "NOT_FOUND",
    "NOT_UNDERSTOOD",
    "ONLY_GET",
    "REFUSED",
    "STALE",
    "TOO_LARGE",
    "WRONG_HOST",
    "Page",
]

_STYLE: Final = (
    "body{font:1.1rem/1.5 system-ui,sans-serif;margin:15vh auto 0;max-width:34rem;padding:0 1.5rem;"
    "color:#1c1c1e;background:#fff}h1{font-size:1.5rem}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#1c1c1e}}"
)
# What is in the address is of no use any more, and need not stay in the history.
_SCRIPT: Final = "history.replaceState(null,'',location.pathname)"

_TEMPLATE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{text}</p>
<script>{script}</script>
</body>
</html>
"""


def _source(text: str) -> str:
    digest = b64encode(sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


_HEADERS: Final = (
    "Content-Type: text/html; charset=utf-8",
    "Cache-Control: no-store",
    "Connection: close",
    "Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; "
    f"frame-ancestors 'none'; style-src {_source(_STYLE)}; script-src {_source(_SCRIPT)}",
    "Cross-Origin-Opener-Policy: same-origin",
    "Referrer-Policy: no-referrer",
    "X-Content-Type-Options: nosniff",
)


class Page(msgspec.Struct, frozen=True):
    """A page, of fixed words."""

    status: str
    title: str
    text: str
    headers: tuple[str, ...] = ()

    def response(self) -> bytes:
        """Return it as a whole response of HTTP."""
        body = _TEMPLATE.format(title=self.title, text=self.text, style=_STYLE, script=_SCRIPT)
        data = body.encode()
        lines = (
            f"HTTP/1.1 {self.status}",
            *_HEADERS,
            *self.headers,
            f"Content-Length: {len(data)}",
        )
        return "\r\n".join((*lines, "", "")).encode("ascii") + data


DONE: Final = Page(
    "200 OK",
    "The log-in is complete",
    "You may close this window. The program that opened it goes on now, and says so if it could "
    "do nothing with this.",
)
REFUSED: Final = Page(
    "200 OK",
    "There is no access",
    "You may close this window. The program that opened it says why.",
)
STALE: Final = Page(
    "400 Bad Request",
    "This is not the window that is waited for",
    "Use the one that was opened last, or start anew. You may close this one.",
)
NOT_FOUND: Final = Page("404 Not Found", "There is nothing here", "You may close this window.")
NOT_UNDERSTOOD: Final = Page(
    "400 Bad Request", "This was not understood", "You may close this window."
)
ONLY_GET: Final = Page(
    "405 Method Not Allowed",
    "There is nothing to be done here",
    "You may close this window.",
    ("Allow: GET",),
)
TOO_LARGE: Final = Page(
    "431 Request Header Fields Too Large", "This is too much", "You may close this window."
)
WRONG_HOST: Final = Page(
    "421 Misdirected Request", "This is another address", "You may close this window."
)
