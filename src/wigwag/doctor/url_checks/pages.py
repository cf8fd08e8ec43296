"""Whether hosts that are web pages can use a server: the rules of browsers, called CORS."""

from __future__ import annotations

from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import initialize, modern
from wigwag.doctor.url_checks.sessions import end_session

__all__ = ["check_pages"]

# Where the Inspector, which is a page, is served.
_PAGE: Final = "http://localhost:6274"

_LEGACY_HEADERS: Final = ("content-type", "mcp-protocol-version", "mcp-session-id")
_MODERN_HEADERS: Final = ("content-type", "mcp-method", "mcp-protocol-version")
_CHANGE: Final = (
    "let the CORS rules of the server or the proxy have: allowed origins as you want them; allowed "
    "methods GET, POST, DELETE, OPTIONS; allowed headers Authorization, Content-Type, "
    "Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id; exposed headers "
    "Mcp-Session-Id, WWW-Authenticate"
)


async def check_pages(asker: Asker, *, is_modern: bool) -> list[Finding]:
    """Ask what a browser asks for a page, and look whether it would let the page go on.

    Args:
        asker: What asks.
        is_modern: Whether the server speaks nothing but the modern era.
    """
    question = modern("server/discover") if is_modern else initialize()
    wanted: tuple[str, ...] = _MODERN_HEADERS if is_modern else _LEGACY_HEADERS
    if any(name.lower() == "authorization" for name in asker.headers):
        wanted = ("authorization", *wanted)  # others come without a token, and so do pages
    preflight = await asker.ask(
        "OPTIONS",
        {
            "Origin": _PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": ",".join(wanted),
        },
        is_ours=False,  # browsers send none of it
    )
    answer = await asker.post(question, Origin=_PAGE)
    await end_session(asker, answer)
    if answer.status == 403:
        return [
            Finding(
                "origin-refused",
                "note",
                f"pages of {_PAGE}, such as the Inspector, may not use the server",
                asker.shown(answer),
                "if they should, add that origin to those that the server allows "
                "(`allowed_origins`, in most SDKs)",
            )
        ]
    if not _allows(preflight) and not _allows(answer):
        return [
            Finding(
                "cors-missing",
                "note",
                "hosts that are web pages cannot use the server: it sends no CORS headers",
                f"{preflight.asked} with `Origin: {_PAGE}` → {preflight.status}, no "
                "Access-Control-Allow-Origin",
                "nothing, unless pages should use it: then turn CORS on in the server or the proxy",
            )
        ]
    faults = [*_faults_of_preflight(asker, preflight, wanted), *_faults_of_answer(answer)]
    if not faults:
        return []
    return [
        Finding(
            "cors-incomplete",
            "warning",
            "hosts that are web pages cannot use the server, though CORS is turned on",
            "\n".join(faults),
            _CHANGE,
        )
    ]


def _allows(exchange: Exchange) -> bool:
    return exchange.headers.get("access-control-allow-origin", "") in ("*", _PAGE)


def _faults_of_preflight(asker: Asker, preflight: Exchange, wanted: tuple[str, ...]) -> list[str]:
    name = preflight.asked
    if not 200 <= preflight.status < 300:
        why = " (browsers send no token with it)" if preflight.status == 401 else ""
        return [f"{name} is refused: {asker.shown(preflight).partition(' → ')[2]}{why}"]
    if not _allows(preflight):
        return [f"{name}: Access-Control-Allow-Origin is missing"]
    allowed = _listed(preflight, "access-control-allow-headers")
    # A `*` stands for all but the one with the token.
    missing = [one for one in wanted if one not in allowed and not _is_in_all(one, allowed)]
    return [f"{name}: Access-Control-Allow-Headers lacks {', '.join(missing)}"] if missing else []


def _is_in_all(name: str, allowed: set[str]) -> bool:
    return "*" in allowed and name != "authorization"


def _faults_of_answer(answer: Exchange) -> list[str]:
    if not _allows(answer):
        return [f"{answer.asked}: the answer lacks Access-Control-Allow-Origin"]
    if "mcp-session-id" not in answer.headers:
        return []
    exposed = _listed(answer, "access-control-expose-headers")
    if exposed & {"mcp-session-id", "*"}:
        return []
    return [f"{answer.asked}: Access-Control-Expose-Headers lacks mcp-session-id"]


def _listed(exchange: Exchange, header: str) -> set[str]:
    return {one.strip().lower() for one in exchange.headers.get(header, "").split(",")}
