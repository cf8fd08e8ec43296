"""Sessions of legacy clients: whether they hold, and what becomes of those that are gone."""

from __future__ import annotations

import re
from typing import Final

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.url_checks.exchanges import Asker, Exchange
from wigwag.doctor.url_checks.messages import LEGACY, initialized, legacy
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND

__all__ = ["check_sessions", "end_session", "session_headers"]

# So many requests, each over a connection of its own, meet more than one worker if there are any.
_ROUNDS: Final = 8

_is_visible: Final = re.compile(r"[!-~]+").fullmatch
_UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
_session_words: Final = re.compile(r"session", re.IGNORECASE)
_version_words: Final = re.compile(r"version", re.IGNORECASE)


def session_headers(greeting: Exchange) -> dict[str, str]:
    """Return what each request of a client carries after the handshake."""
    revision = (greeting.result or {}).get("protocolVersion")
    stated = revision if isinstance(revision, str) and _is_visible(revision) else LEGACY
    headers = {"MCP-Protocol-Version": stated}
    session = greeting.headers.get("mcp-session-id", "")
    if _is_visible(session):
        headers["Mcp-Session-Id"] = session
    return headers


async def end_session(asker: Asker, greeting: Exchange) -> Exchange | None:
    """Leave no session behind; `None` if there was none."""
    if not greeting.headers.get("mcp-session-id"):
        return None
    return await asker.ask("DELETE", session_headers(greeting))


async def check_sessions(asker: Asker, greeting: Exchange, facts: Facts) -> list[Finding]:
    """Go on with a conversation that a handshake has begun.

    Args:
        asker: What has asked.
        greeting: The answer to `initialize`.
        facts: Takes what else is found out.
    """
    session = greeting.headers.get("mcp-session-id")
    facts["has_sessions"] = session is not None
    if session is not None and not _is_visible(session):
        return [
            Finding(
                "session-id-invalid",
                "error",
                "the id of the session has characters that no header may have",
                f"Mcp-Session-Id: {asker.told(session)!r}",
                "make it of visible ASCII characters, such as a UUID",
            )
        ]
    headers = session_headers(greeting)
    noted = await asker.post(initialized(headers))
    pings = [await asker.post(legacy("ping", headers)) for _ in range(_ROUNDS)]
    refused = [one for one in pings if one.result is None]
    if refused:
        return [await _explain(asker, greeting, pings, refused[0])]
    findings = []
    if noted.status != 202:
        findings.append(_lost_id(asker, greeting, noted) or _judge_notification(asker, noted))
    if session is not None:
        findings += await _check_unknown(asker, headers)
    return findings


def _judge_notification(asker: Asker, noted: Exchange) -> Finding:
    is_taken = 200 <= noted.status < 300
    return Finding(
        "notification-not-accepted",
        "warning" if is_taken else "error",
        "the notification `notifications/initialized` is not answered with 202",
        asker.shown(noted),
        "answer notifications with 202 and no body"
        if is_taken
        else "take it with 202: without it no conversation goes on; look at what the answer says",
    )


async def _explain(
    asker: Asker, greeting: Exchange, pings: list[Exchange], refused: Exchange
) -> Finding:
    """Find out why a request after the handshake has no result."""
    finding = _told_reason(asker, pings, refused)
    if finding is not None:
        return finding
    evidence = asker.shown(refused)
    good = sum(one.result is not None for one in pings)
    if good:
        return await _not_shared(asker, greeting, good, evidence)
    if "mcp-session-id" in greeting.headers and refused.status in (400, 404):
        return await _forgotten(asker, greeting, evidence)
    lost = _lost_id(asker, greeting, refused)
    if lost is not None:
        return lost
    if refused.status == 400 and _version_words.search(refused.text):
        stated = session_headers(greeting)["MCP-Protocol-Version"]
        return Finding(
            "protocol-version-refused",
            "error",
            "the server refuses the version that it has agreed to itself",
            f"{evidence}\nsent: MCP-Protocol-Version: {stated}",
            "take in the header MCP-Protocol-Version what `initialize` has answered",
        )
    return Finding(
        "request-after-handshake-fails",
        "error",
        "the handshake works, and what follows does not",
        evidence,
        "look into the log of the server",
    )


def _lost_id(asker: Asker, greeting: Exchange, refused: Exchange) -> Finding | None:
    """Return that the id of the session was taken away on its way, if it was."""
    if not _session_words.search(refused.text):
        return None
    if "mcp-session-id" in greeting.headers:
        return Finding(
            "session-id-lost",
            "error",
            "the session that `initialize` has begun is not known when the next message comes",
            asker.shown(refused),
            "see whether a proxy drops the header Mcp-Session-Id from requests",
        )
    return Finding(
        "session-id-lost",
        "error",
        "the server wants the id of a session, and `initialize` gave none",
        f"{asker.shown(refused)}\n{greeting.asked} → {greeting.status}, without Mcp-Session-Id",
        "see whether a proxy drops the header Mcp-Session-Id from answers",
    )


def _told_reason(asker: Asker, pings: list[Exchange], refused: Exchange) -> Finding | None:
    """Return why a request was refused, where the refusal has only one meaning."""
    evidence = asker.shown(refused)
    if refused.error_code == METHOD_NOT_FOUND and refused.status in (200, 404):
        return Finding(
            "ping-not-answered",
            "warning",
            "the server does not know `ping`, which every legacy server answers",
            evidence,
            "answer `ping` with an empty result: hosts end connections that do not",
        )
    if refused.status == 401:
        return Finding(
            "token-wanted-later",
            "warning",
            "the handshake needs no token, and what follows does",
            evidence,
            "answer 401 to `initialize` already, where clients expect it and begin to log in",
        )
    if refused.status == 429:
        return Finding(
            "rate-limited",
            "warning",
            f"requests are refused after {pings.index(refused)} of them",
            evidence,
            "allow more in a short time: hosts list tools, resources and prompts at once",
        )
    return None


async def _not_shared(asker: Asker, greeting: Exchange, good: int, evidence: str) -> Finding:
    cookie = greeting.headers.get("set-cookie", "").partition("=")[0]
    found = f"{good} of {_ROUNDS} requests of one session were answered, the others not: {evidence}"
    change = (
        "run one worker, or let the server keep no sessions (stateless), or keep them where all "
        "workers find them, or let the balancer route by the header Mcp-Session-Id"
    )
    if cookie:
        found += f"\nthe cookie {asker.told(cookie)} is meant to hold them together"
        change += "; clients keep no cookies"
    return Finding(
        "session-not-shared",
        "error",
        "a session is known to some of the workers only",
        found,
        change,
    )


async def _forgotten(asker: Asker, greeting: Exchange, evidence: str) -> Finding:
    """Tell a session that no worker knows from one whose id does not arrive."""
    cookie = greeting.headers.get("set-cookie", "").partition(";")[0]
    if cookie:
        retried = await asker.post(legacy("ping", session_headers(greeting)), Cookie=cookie)
        if retried.result is not None:
            return await _not_shared(asker, greeting, 0, evidence)
    return Finding(
        "session-id-lost",
        "error",
        "the session that `initialize` has begun is not known when the next request comes",
        evidence,
        "see whether a proxy drops the header Mcp-Session-Id from requests, or whether several "
        "workers or instances run and each has its own sessions",
    )


async def _check_unknown(asker: Asker, headers: dict[str, str]) -> list[Finding]:
    """Look what becomes of a client whose session the server has forgotten, as after a restart."""
    unknown = {**headers, "Mcp-Session-Id": _UNKNOWN}
    found = await asker.post(legacy("ping", unknown))
    if found.status == 404 or found.result is not None or not found.has_response:
        return []
    return [
        Finding(
            "unknown-session-not-404",
            # Servers written as the documentation of an SDK shows it answer 400 to any session
            # that they do not have; that is wrong only for one that they had.
            "note" if found.status == 400 else "warning",
            f"a session that the server does not know is answered with {found.status}",
            asker.shown(found),
            "answer it with 404: only then clients begin a new session by themselves after the "
            "server was started anew",
        )
    ]
