"""HTTP requests that authorization wants made, and the responses to them, as values.

Their texts hide what is inside: both carry secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from wigwag.oauth.secret import Secret
from wigwag.oauth.urls import shown

__all__ = ["HttpRequest", "HttpResponse", "form_request", "get_request", "json_request", "told"]

# How much of what a server says about a failure is shown.
_MAX_TOLD_CHARACTERS: Final = 200

_not_printable: Final = re.compile(r"[^ -~…]+")


class HttpRequest(msgspec.Struct, frozen=True):
    """One HTTP request to be made, without cookies and without credentials of the caller's.

    Redirects of a GET may be followed as `fetch_rules` allows, those of a POST never.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __repr__(self) -> str:
        return f"HttpRequest({self.method!r}, {shown(self.url)!r})"


class HttpResponse(msgspec.Struct, frozen=True):
    """What came back.

    Args:
        status: For example 200.
        headers: Names and values in the order in which they came; names in any case.
        body: All of it, cut off by whoever read it if it was larger than metadata ever is.
        received_at: When it came, in seconds since 1970: what it says about time counts from here.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    received_at: float = 0.0

    def __repr__(self) -> str:
        return f"HttpResponse({self.status})"

    def values(self, name: str) -> list[str]:
        """Return the values of a header, one for each line of it."""
        return [value for key, value in self.headers if key.lower() == name]

    @property
    def is_temporary_failure(self) -> bool:
        """Whether the same request may succeed later: the server is overloaded or broken."""
        return self.status >= 500 or self.status in (408, 425, 429)

    def read_object(self) -> dict[str, Any] | None:
        """Return the JSON object in the body; `None` if it is anything else."""
        try:
            document = msgspec.json.decode(self.body)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return None
        return document if isinstance(document, dict) else None


def get_request(url: str, headers: Mapping[str, str] | None = None) -> HttpRequest:
    """Ask for a JSON document."""
    return HttpRequest("GET", url, {"accept": "application/json", **(headers or {})})


def form_request(
    url: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
) -> HttpRequest:
    """Post a form, as token endpoints want it, and ask for JSON back."""
    return HttpRequest(
        "POST",
        url,
        {
            "accept": "application/json",
            "content-type": "application/x-www-form-urlencoded",
            **(headers or {}),
        },
        urlencode(fields).encode(),
    )


def json_request(url: str, document: Mapping[str, Any]) -> HttpRequest:
    """Post a JSON document, and ask for one back."""
    return HttpRequest(
        "POST",
        url,
        {"accept": "application/json", "content-type": "application/json"},
        msgspec.json.encode(document),
    )


def told(text: object, secrets: Iterable[Secret] = ()) -> str:
    r"""Return what a server said, fit to be shown: short, on one line, without what is secret.

    >>> told("no\n\x1b[31mway: abc", [Secret("abc")])
    'no [31mway: …'
    """
    if not isinstance(text, str):
        return ""
    for secret in secrets:
        if secret:
            text = text.replace(secret.reveal(), "…")
    words = " ".join(_not_printable.sub(" ", text).split())
    return words if len(words) <= _MAX_TOLD_CHARACTERS else f"{words[:_MAX_TOLD_CHARACTERS]}…"
