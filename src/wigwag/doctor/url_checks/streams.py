"""Streams of events: whether they open, whether what is sent comes at once, whether they last."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from wigwag.bindings.lines import LineTooLong
from wigwag.bindings.sse import EVENT_STREAM
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange, OpenStream
from wigwag.doctor.url_checks.messages import Question, legacy, modern
from wigwag.doctor.url_checks.sessions import session_headers

__all__ = [
    "UNBUFFERED",
    "check_progress",
    "check_standalone_stream",
    "check_subscription",
    "judge_progress",
]

# Libraries take compressed answers by themselves, so a stream may come compressed.
_AS_LIBRARIES_DO: Final = {"Accept-Encoding": "gzip, deflate"}

UNBUFFERED: Final = (
    "let no proxy buffer it: send `X-Accel-Buffering: no` with streams (nginx: proxy_buffering "
    "off); compress no streams; see that the server flushes each event"
)
_TOKEN: Final = "wigwag-doctor"

# What comes within this time came together.
_TOGETHER: Final = 0.05


async def check_standalone_stream(asker: Asker, greeting: Exchange, facts: Facts) -> list[Finding]:
    """Open the stream of a legacy session on which a server speaks first.

    Args:
        asker: What has asked.
        greeting: The answer to `initialize`.
        facts: Takes what else is found out.
    """
    headers = {**session_headers(greeting), "Accept": EVENT_STREAM, **_AS_LIBRARIES_DO}
    seconds = asker.patience.event
    async with asker.opened("GET", headers, seconds=seconds) as (exchange, stream):
        facts["has_standalone_stream"] = exchange.status == 200 and exchange.is_stream
        if exchange.status == 405:
            return []
        if stream is None:
            return [_not_opening(asker, exchange)]
        if exchange.status != 200 or not exchange.is_stream:
            await stream.read(asker.patience.answer, lambda _: False)
            return [_refused(asker, exchange)]
        return [*_compressed(asker, exchange), *await _watch(asker, exchange, stream)]


async def check_subscription(asker: Asker, discovered: Exchange, facts: Facts) -> list[Finding]:
    """Listen as modern clients do, and look whether what is sent first comes at once.

    Args:
        asker: What has asked.
        discovered: The answer to `server/discover`.
        facts: Takes what else is found out.
    """
    wished = _announced((discovered.result or {}).get("capabilities"))
    if not wished:
        return []
    question = modern("subscriptions/listen", {"notifications": wished})
    headers = {**question.headers, **_AS_LIBRARIES_DO}
    seconds = asker.patience.event
    async with asker.opened("POST", headers, question.body, seconds=seconds) as (exchange, stream):
        if stream is None:
            return [_not_opening(asker, exchange)]
        if exchange.status != 200 or not exchange.is_stream:
            await stream.read(asker.patience.answer, lambda _: False)
            return [_no_subscription(asker, exchange)]
        if not await stream.read(seconds, _has_event):
            return [*_compressed(asker, exchange), _held_back(asker, exchange)]
        facts["has_subscriptions"] = True
        return [*_compressed(asker, exchange), *await _watch(asker, exchange, stream)]


def _announced(capabilities: Any) -> dict[str, bool]:
    """Return the changes that a server says it tells of, as a wish for all of them."""
    if not isinstance(capabilities, dict):
        return {}
    return {
        f"{kind}ListChanged": True
        for kind in ("tools", "prompts", "resources")
        if isinstance(capabilities.get(kind), dict) and capabilities[kind].get("listChanged")
    }


def _has_event(exchange: Exchange) -> bool:
    return bool(exchange.events())


def _not_opening(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.state == "late":
        return _held_back(asker, exchange)
    return Finding(
        "stream-refused",
        "warning",
        "the connection is closed where a stream of events should open",
        asker.shown(exchange),
        "look into the log of the server, or let it answer 405 if it has no such stream",
    )


def _held_back(asker: Asker, exchange: Exchange) -> Finding:
    came = "its head comes, and no event" if exchange.has_response else "not even its head comes"
    return Finding(
        "stream-held-back",
        "warning",
        "a stream of events opens, and what is sent through it does not come",
        f"{exchange.asked}: {came} within {asker.patience.event:g} s; answers came at once",
        UNBUFFERED,
    )


def _refused(asker: Asker, exchange: Exchange) -> Finding:
    return Finding(
        "stream-refused",
        "warning",
        "a GET is answered neither with a stream of events nor with 405",
        asker.shown(exchange),
        "answer 405 if there is no such stream: clients take anything else for a failure",
    )


def _no_subscription(asker: Asker, exchange: Exchange) -> Finding:
    return Finding(
        "subscription-refused",
        "warning",
        "the server says that its lists may change, and does not let clients listen for that",
        asker.shown(exchange),
        "answer subscriptions/listen with a stream, or declare no `listChanged`",
    )


def _compressed(asker: Asker, exchange: Exchange) -> list[Finding]:
    encoding = exchange.headers.get("content-encoding", "identity")
    if encoding.lower() in ("", "identity"):
        return []
    return [
        Finding(
            "stream-compressed",
            "warning",
            "streams of events are compressed, so that events wait until there is enough to pack",
            f"{exchange.asked} → Content-Encoding: {asker.told(encoding)}",
            f"leave {EVENT_STREAM} out of what is compressed, in the proxy (nginx: gzip_types; "
            "Caddy: encode) or in the middleware of the server",
        )
    ]


async def _watch(asker: Asker, exchange: Exchange, stream: OpenStream) -> list[Finding]:
    """Listen for a while to a stream that should stay open."""
    begun = time.monotonic()
    before = len(exchange.pieces)
    await stream.read(asker.patience.idle, lambda _: False)
    lasted = time.monotonic() - begun
    if exchange.state == "cut":
        return [
            Finding(
                "stream-cut",
                "warning",
                f"the stream of events was cut after {lasted:.1f} s",
                f"{exchange.asked}: the connection was closed in the middle of the response",
                "raise the limits of the proxy for silent and for long responses (nginx: "
                "proxy_read_timeout; AWS: idle timeout), and send a comment every 15 s",
            )
        ]
    if exchange.state == "whole":
        return [
            Finding(
                "stream-ends",
                "note",
                f"the stream of events ends after {lasted:.1f} s",
                f"{exchange.asked}: the response is complete; clients open it again and again",
                "leave it open, or answer 405 if there is nothing to tell",
            )
        ]
    if asker.patience.idle >= asker.patience.keep_alive and len(exchange.pieces) == before:
        return [
            Finding(
                "no-keep-alive",
                "warning",
                f"a silent stream of events gets no sign of life within {lasted:.0f} s",
                f"{exchange.asked}: no byte in that time",
                "send a comment (`: ` and a blank line) every 15 s: proxies cut what is silent for "
                "a minute or so",
            )
        ]
    return []


async def check_progress(
    asker: Asker,
    greeting: Exchange | None,
    tool: str,
    arguments: Mapping[str, Any],
) -> list[Finding]:
    """Call a tool that reports progress, and look whether the reports come when they are made.

    Args:
        asker: What asks.
        greeting: The answer to `initialize`; `None` to call it as modern clients do.
        tool: The name of the tool.
        arguments: Its arguments.
    """
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": _TOKEN}}
    question: Question
    if greeting is None:
        question = modern("tools/call", params, name=tool)
    else:
        question = legacy("tools/call", session_headers(greeting), params)
    found = await asker.ask("POST", {**question.headers, **_AS_LIBRARIES_DO}, question.body)
    return [] if (finding := judge_progress(asker, found, tool)) is None else [finding]


def judge_progress(asker: Asker, found: Exchange, tool: str) -> Finding | None:
    """Return what is wrong with how the answer to a call of a tool came.

    Args:
        asker: What has called it.
        found: The call and its answer.
        tool: The name of the tool.
    """
    if found.state == "late" and not found.body:
        return _held_back(asker, found)
    reports = _reports(found)
    if reports < 2:
        how = "no report" if reports == 0 else "one report"
        return Finding(
            "no-progress",
            "note",
            f"the tool {tool} makes {how} of its progress, which tells nothing about streams",
            asker.shown(found),
            "name a tool and arguments with which it makes several",
        )
    first, last = found.pieces[0][0], found.pieces[-1][0]
    if last - first > _TOGETHER:
        return None
    return Finding(
        "progress-in-one-lump",
        "warning",
        "reports of progress come all at once, together with the result",
        f"{reports} reports and the result of {tool} came within {last - first:.3f} s, "
        f"{first:.1f} s after the call",
        f"unless the tool does all its work in an instant: {UNBUFFERED}",
    )


def _reports(exchange: Exchange) -> int:
    """Return how many reports of progress came."""
    count = 0
    for event in exchange.events():
        if isinstance(event.data, LineTooLong):
            continue
        try:
            message = msgspec.json.decode(event.data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
        is_report = isinstance(message, dict) and message.get("method") == "notifications/progress"
        count += is_report
    return count
