"""Redirects, which few clients follow, and none with everything that a request has."""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin, urlsplit

from wigwag.doctor.findings import Finding, Severity
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import initialize
from wigwag.transports.http_client_engine import is_same_origin, public_url

__all__ = ["follow_redirects", "is_redirect"]

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MAX_FOLLOWED: Final = 5

# What the pages are called where people prove who they are.
_LOGIN_WORDS: Final = (
    "login",
    "log-in",
    "signin",
    "sign-in",
    "sign_in",
    "sso",
    "saml",
    "oauth",
    "openid",
    "authorize",
    "accounts.",
    "cloudflareaccess",
)


def is_redirect(exchange: Exchange) -> bool:
    """Tell whether the client is sent elsewhere."""
    return exchange.status in _REDIRECTS and "location" in exchange.headers


async def follow_redirects(asker: Asker, exchange: Exchange) -> tuple[Asker, list[Finding]]:
    """Go where redirects lead.

    Args:
        asker: What asks at the URL.
        exchange: The redirect.

    Returns:
        What asks at the last URL, and what is wrong. If an error is among it, there is nothing
        to be asked there.
    """
    path = [asker.url]
    current = exchange
    statuses = []
    while is_redirect(current):
        statuses.append(current.status)
        target = urljoin(path[-1], current.headers["location"])
        if target in path or len(path) > _MAX_FOLLOWED:
            return asker, [_loop(asker, [*path, target])]
        path.append(target)
        if urlsplit(target).scheme not in ("http", "https") or _leads_to_login(target, asker.url):
            break
        # Nothing but the question goes to another place than the one that was named.
        question = initialize()
        current = await asker.ask(
            "POST",
            question.headers,
            question.body,
            url=target,
            is_ours=is_same_origin(target, asker.url),
        )
    trail = " → ".join(asker.told(public_url(url)) for url in path)
    evidence = f"{', '.join(map(str, statuses))}: {trail}"
    return asker.at(path[-1]), [_judge(asker, path, statuses, evidence, current)]


def _leads_to_login(url: str, origin: str) -> bool:
    """Tell whether a URL is that of a login page, going by words that the first one has not."""
    before, after = _place(origin), _place(url)
    return any(word in after and word not in before for word in _LOGIN_WORDS)


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname or ''}{parts.path}".lower()


def _loop(asker: Asker, path: list[str]) -> Finding:
    return Finding(
        "redirect-loop",
        "error",
        "redirects go round in a circle, or do not end",
        " → ".join(asker.told(public_url(url)) for url in path),
        "look at the rules of the proxy that add or take away the slash, www or https: they undo "
        "one another",
    )


def _judge(
    asker: Asker, path: list[str], statuses: list[int], evidence: str, last: Exchange
) -> Finding:
    begin, end = urlsplit(path[0]), urlsplit(path[-1])
    shown = asker.told(public_url(path[-1]))
    answers = last.message is not None or last.status == 401
    use = f"put {shown} into the host's configuration" if answers else f"look at {shown}"
    if _leads_to_login(path[-1], path[0]) and not answers:
        return Finding(
            "redirect-to-login",
            "error",
            "requests are sent to a page where people log in",
            evidence,
            "let the proxy pass the path of the MCP server, whose clients cannot fill in pages: "
            "they take a 401 with WWW-Authenticate, and OAuth",
        )
    if begin.scheme == "https" and end.scheme == "http":
        return Finding(
            "redirect-to-http",
            "error",
            "the server redirects from https to http, where tokens must not go",
            evidence,
            "the server does not know that TLS ends before it: let the proxy send "
            "X-Forwarded-Proto and the server believe it (uvicorn: --proxy-headers "
            "--forwarded-allow-ips), and serve the path without a redirect",
        )
    if begin.scheme == "http" and end.scheme == "https":
        return Finding(
            "redirect-to-https",
            "error",
            "the server takes https only, and redirects",
            evidence,
            use,
        )
    if begin.netloc.lower() != end.netloc.lower():
        return Finding(
            "redirect-elsewhere",
            "error",
            "the server redirects to another host, where clients take no credentials",
            evidence,
            use,
        )
    is_kept = all(status in (307, 308) for status in statuses)
    if begin.path.rstrip("/") == end.path.rstrip("/"):
        what = "the server redirects for a slash at the end of the path"
        change = (
            f"{use}; or serve both spellings (Starlette, FastAPI: redirect_slashes=False and a "
            "route for each)"
        )
        return Finding("redirect-on-slash", _severity(is_kept=is_kept), what, evidence, change)
    code = "redirect-to-path" if is_kept else "redirect-loses-post"
    what = "the server redirects to another path"
    if not is_kept:
        what += f" with {statuses[0]}, after which most clients send GET without the message"
        use += "; a redirect that keeps the message is 307 or 308"
    return Finding(code, _severity(is_kept=is_kept), what, evidence, use)


def _severity(*, is_kept: bool) -> Severity:
    return "warning" if is_kept else "error"
