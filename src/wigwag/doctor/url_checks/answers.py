"""What the answers of a server say besides: their type, their age, their speed, the headers."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import Final

from wigwag.bindings.sse import EVENT_STREAM
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import JSON_TYPE, MODERN, modern
from wigwag.schema.error_codes import HEADER_MISMATCH

__all__ = ["check_answer", "check_modern_headers"]

# A minute is what those who check times of tokens commonly forgive.
_SKEW_FORGIVEN: Final = 60.0


def check_answer(asker: Asker, exchange: Exchange, facts: Facts) -> list[Finding]:
    """Look at an answer of the protocol as HTTP sees it."""
    facts["seconds_to_answer"] = round(exchange.seconds, 3)
    found = (_type(asker, exchange), _encoding(asker, exchange), _age(asker, exchange, facts))
    return [finding for finding in (*found, _speed(asker, exchange)) if finding is not None]


def _type(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.says_json or exchange.is_stream:
        return None
    stated = asker.told(exchange.headers.get("content-type", "")) or "none"
    return Finding(
        "wrong-content-type",
        "error",
        "the answer is one of MCP, and its Content-Type is not",
        f"{exchange.asked} → {exchange.status}, Content-Type: {stated}",
        f"send {JSON_TYPE} with JSON and {EVENT_STREAM} with events; clients take nothing else",
    )


def _encoding(asker: Asker, exchange: Exchange) -> Finding | None:
    encoding = exchange.headers.get("content-encoding", "identity")
    if encoding.lower() in ("", "identity"):
        return None
    return Finding(
        "compression-unasked",
        "warning",
        "answers are compressed, though that was not asked for",
        f"sent: Accept-Encoding: identity; got: Content-Encoding: {asker.told(encoding)}",
        "compress only where Accept-Encoding allows it, and never streams of events",
    )


def _age(asker: Asker, exchange: Exchange, facts: Facts) -> Finding | None:
    stated = exchange.headers.get("date")
    if stated is None or "age" in exchange.headers:  # one that was kept somewhere is old
        return None
    try:
        theirs = parsedate_to_datetime(stated).timestamp()
    except (ValueError, OverflowError):
        return None
    # The header has whole seconds only, so it is half a second too small on average.
    skew = theirs + 0.5 - (exchange.taken_at - exchange.seconds / 2)
    facts["clock_skew_seconds"] = round(skew)
    if abs(skew) <= _SKEW_FORGIVEN:
        return None
    return Finding(
        "clock-skew",
        "warning",
        f"the clocks of server and client are {abs(skew):.0f} s apart",
        f"Date: {asker.told(stated)}, which is {'ahead' if skew > 0 else 'behind'}",
        "let both take the time from the network (NTP): tokens seem expired, or not valid yet",
    )


def _speed(asker: Asker, exchange: Exchange) -> Finding | None:
    limit = asker.patience.slow_start
    if exchange.seconds <= limit:
        return None
    return Finding(
        "slow-answer",
        "warning",
        "the first answer takes long",
        f"{exchange.asked}: {exchange.seconds:.1f} s",
        "hosts wait for few seconds when they start: keep one instance running (no scale to zero), "
        "and do slow work when it is needed, not at the first request",
    )


async def check_modern_headers(asker: Asker, exchange: Exchange) -> list[Finding]:
    """Look whether the headers of a modern request arrive, and whether they are held to its body.

    Args:
        asker: What has asked.
        exchange: The answer to `server/discover`.
    """
    if exchange.error_code == HEADER_MISMATCH:
        return [
            Finding(
                "headers-lost",
                "error",
                "the headers that every request of 2026-07-28 has do not arrive",
                f"{asker.shown(exchange)}\nsent: MCP-Protocol-Version: {MODERN}, Mcp-Method: "
                "server/discover",
                "let the proxy pass the headers MCP-Protocol-Version and Mcp-* as they are",
            )
        ]
    if exchange.result is None:
        return []
    question = modern("server/discover")
    found = await asker.ask("POST", {**question.headers, "Mcp-Method": "tools/list"}, question.body)
    if found.result is None:
        return []
    return [
        Finding(
            "headers-not-checked",
            "warning",
            "the server takes requests whose headers say something else than their body",
            f"with `Mcp-Method: tools/list` it answers server/discover: {found.status}",
            "refuse them with 400 and error -32020: what stands before the server judges a request "
            "by its headers",
        )
    ]
