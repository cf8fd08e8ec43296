"""What an answer means that is none of MCP."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from wigwag.doctor.findings import Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.streams import UNBUFFERED

__all__ = ["explain_answer", "explain_refusal"]

_login_page: Final = re.compile(
    rb'type=["\']?password|<title>[^<]{0,80}(sign|log)[ -]?in', re.IGNORECASE
)
_plain_to_tls: Final = re.compile(
    r"plain HTTP request was sent to HTTPS port|HTTP request to an HTTPS server|"
    r"speaking plain HTTP to an SSL-enabled|This combination of host and port requires TLS",
    re.IGNORECASE,
)
_NOT_FROM_SERVER: Final = (502, 503, 504, 520, 521, 522, 523, 524, 525, 526, 530)
_challenged: Final = re.compile(
    r"Just a moment\.\.\.|challenge-platform|Attention Required!|captcha|"
    r"Incapsula|Request blocked|Pardon Our Interruption",
    re.IGNORECASE,
)


def explain_refusal(asker: Asker, exchange: Exchange) -> Finding | None:
    """Return why a request was refused, where its status or its page says so.

    Args:
        asker: What has asked.
        exchange: The request and the refusal.
    """
    for explain in (_plain_http, _bot_check, _rate_limit, _gateway, _type, _method_filter):
        finding = explain(asker, exchange)
        if finding is not None:
            return finding
    return None


def _plain_http(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.status not in (400, 426, 497) or not _plain_to_tls.search(exchange.text[:4000]):
        return None
    return Finding(
        "http-to-tls-port",
        "error",
        "the port speaks TLS, and the URL says http",
        asker.shown(exchange),
        f"write {asker.name.replace('http://', 'https://', 1)}",
    )


def _bot_check(asker: Asker, exchange: Exchange) -> Finding | None:
    is_mitigated = exchange.headers.get("cf-mitigated") == "challenge"
    is_page = exchange.is_html and exchange.status in (403, 429, 503)
    if not is_mitigated and not (is_page and _challenged.search(exchange.text[:20_000])):
        return None
    return Finding(
        "bot-check",
        "error",
        "something in front of the server takes MCP clients for bots",
        asker.shown(exchange),
        "make an exception for the path of the MCP server in its firewall (Cloudflare: a WAF rule "
        "that skips bot checks for that path)",
    )


def _rate_limit(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.status != 429:
        return None
    wait = asker.told(exchange.headers.get("retry-after", ""))
    return Finding(
        "rate-limited",
        "error",
        "the server, or what is in front of it, refuses so many requests",
        asker.shown(exchange) + (f"\nRetry-After: {wait}" if wait else ""),
        "wait, then try again; for the operator: a client opens with several requests at once, and "
        "hosts on one service share their address: limit by token rather than by address",
    )


def _gateway(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.status not in _NOT_FROM_SERVER:
        return None
    if exchange.message is not None or (exchange.says_json and exchange.status == 503):
        return None  # the server itself says so
    who = asker.told(exchange.headers.get("server", "")) or "a proxy"
    why = {
        502: "nobody answers it at the address that it has for the server",
        503: "it has no server to pass requests to, or that one is overloaded",
        504: "the server did not answer it in time",
        521: "the server refuses its connections",
        522: "it gets no connection to the server",
        525: "it has no TLS with the server",
        526: "it does not trust the certificate of the server",
        530: "it does not find the server",
    }.get(exchange.status, "it did not get on with the server")
    return Finding(
        "gateway-error",
        "error",
        f"a proxy answers in place of the server: {why}",
        f"{asker.shown(exchange)}\nServer: {who}",
        "see whether the server runs, and whether the proxy has its right address and port; in a "
        "container 127.0.0.1 is the container itself",
    )


def _type(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.status == 406:
        return Finding(
            "accept-refused",
            "error",
            "the server refuses the Accept that every client sends",
            f"{asker.shown(exchange)}\nsent: Accept: application/json, text/event-stream",
            "see whether a proxy changes or drops the header Accept; otherwise let the server take "
            "both types",
        )
    if exchange.status == 415:
        return Finding(
            "content-type-refused",
            "error",
            "the server refuses the Content-Type that every client sends",
            f"{asker.shown(exchange)}\nsent: Content-Type: application/json",
            "see whether a proxy changes or drops the header Content-Type; otherwise let the "
            "server take application/json",
        )
    return None


def _method_filter(asker: Asker, exchange: Exchange) -> Finding | None:
    if exchange.status not in (411, 413):
        return None
    return Finding(
        "body-refused",
        "error",
        "the body of a small request is refused",
        asker.shown(exchange),
        "look at the limits of the proxy (nginx: client_max_body_size), and whether it takes "
        "bodies of a POST at all",
    )


def explain_answer(asker: Asker, exchange: Exchange) -> Finding | None:
    """Return what is wrong with an answer that says all is well and is not of MCP; or with none."""
    kinds: tuple[tuple[bool, Callable[[Asker, Exchange], Finding]], ...] = (
        (not exchange.has_response, _silent),
        (exchange.status >= 500, _server_error),
        (exchange.status == 403, _forbidden),
        (exchange.is_html, _page),
        (exchange.status in (200, 202, 204) and not exchange.body, _empty),
        (exchange.is_stream, _stream),
        (exchange.status == 200, _other),
    )
    return next((explain(asker, exchange) for applies, explain in kinds if applies), None)


def _silent(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.state == "late":
        return Finding(
            "no-answer",
            "error",
            "the server takes the request and does not answer",
            f"{exchange.asked}: nothing within {asker.patience.answer:g} s",
            "look into the log of the server: it may wait for something it needs, such as a "
            "database; or a proxy waits for it",
        )
    return Finding(
        "connection-dropped",
        "error",
        "the connection is closed without an answer",
        asker.shown(exchange),
        "look into the log of the server or the proxy: it crashed, or refuses by closing; see "
        "whether the port belongs to something else",
    )


def _server_error(asker: Asker, exchange: Exchange) -> Finding:
    advice = "the traceback is in the log of the server"
    if "Task group is not initialized" in exchange.text:
        advice = (
            "the application is mounted in another one, whose lifespan does not run it: pass its "
            "lifespan on (official Python SDK: `session_manager.run()`; FastMCP: `lifespan=`)"
        )
    return Finding(
        "server-error",
        "error",
        "the server fails over the first request",
        asker.shown(exchange),
        advice,
    )


def _forbidden(asker: Asker, exchange: Exchange) -> Finding:
    return Finding(
        "forbidden",
        "error",
        "the request is refused with 403, which no client can do anything about",
        asker.shown(exchange),
        "if a token is wanted, answer 401 with WWW-Authenticate; otherwise see what refuses: "
        "the firewall or proxy in front, the allowed addresses, Host or Origin",
    )


def _page(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.status < 400 and _login_page.search(exchange.body[:200_000]):
        return Finding(
            "login-page",
            "error",
            "a page where people log in answers in place of the server",
            asker.shown(exchange),
            "let the proxy that wants the login pass the path of the MCP server, or answer there "
            "with 401 and WWW-Authenticate",
        )
    return Finding(
        "html-instead-of-mcp",
        "error",
        "a web page answers in place of an MCP server",
        asker.shown(exchange),
        "see whether the path is right: it is that of the MCP endpoint, such as /mcp, not that of "
        "a web site or its documentation",
    )


def _empty(asker: Asker, exchange: Exchange) -> Finding:
    return Finding(
        "request-not-answered",
        "error",
        "the request is accepted, and has no answer",
        asker.shown(exchange),
        "answer a request with 200 and the response as JSON, or as a stream with it; 202 is for "
        "notifications; if this is an HTTP+SSE server, use the URL of its stream",
    )


def _stream(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.state == "late" and exchange.body:
        how = "has events, and the answer is not among them"
    elif exchange.state == "late":
        how = f"brings nothing within {asker.patience.event:g} s"
    elif exchange.state == "cut":
        how = "breaks off before the answer"
    else:
        how = "ends without the answer"
    if exchange.state == "late" and not exchange.body:
        return Finding(
            "stream-held-back",
            "error",
            f"the answer comes as a stream, which {how}",
            asker.shown(exchange),
            UNBUFFERED,
        )
    return Finding(
        "stream-without-answer",
        "error",
        f"the answer comes as a stream, which {how}",
        asker.shown(exchange),
        "send the response as `data:` of one event, with a blank line behind it; see whether a "
        "proxy cuts the stream",
    )


def _other(asker: Asker, exchange: Exchange) -> Finding:
    if exchange.says_json and not exchange.text.lstrip().startswith(("{", "[")):
        what = "the answer is said to be JSON and is none"
        return Finding(
            "broken-json", "error", what, asker.shown(exchange), "see what writes beside the answer"
        )
    return Finding(
        "not-mcp",
        "error",
        "what answers is no MCP server",
        asker.shown(exchange),
        "see whether host, port and path are right",
    )
