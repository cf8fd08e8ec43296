"""Finds out why a server that runs does not answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from msgspec.structs import replace

from wigwag.doctor.findings import Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.conversation import Conversation
from wigwag.doctor.process_checks.handshake import check_ids, excerpt_of
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.jsonrpc.codec import encode_value

__all__ = ["explain_silence"]

StartAgain = Callable[[], Awaitable[WatchedProcess]]

_URL: Final = re.compile(r"https?://[\w.\[\]:-]+[\w/.-]*")
# Of other URLs, such as that of its documentation, a server speaks without listening there.
_URL_OF_THIS_MACHINE: Final = re.compile(
    r"https?://(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?::\d+)?[\w/.-]*"
)
_LISTENS: Final = re.compile(
    r"(?:listening|running|serving|started|available)\b[^\n]{0,60}"
    r"(?:\bport\b\D{0,10}\d{2,5}|\b(?:on|at)\b[^\n]{0,20}:\d{4,5}\b)",  # no time of day
    re.IGNORECASE,
)
_PROMPT: Final = re.compile(
    r"(?:password|passphrase|token|user ?name|login|\[y/n\]|\(y/n\)|\(yes/no\)|continue\?|key)"
    r"[^\n]{0,20}[:?>]\s*\Z",
    re.IGNORECASE,
)
_LAST_CHARACTERS: Final = 500
_LOOKED_AT_BYTES: Final = 4096


async def explain_silence(
    talk: Conversation, asked: dict[str, Any], start_again: StartAgain, patience: Patience
) -> Finding:
    """Return why a server does not answer `initialize`, and what to change.

    Args:
        talk: The conversation with it, in which the time for the answer is over.
        asked: What it was asked.
        start_again: Starts the server anew.
        patience: How long to wait.
    """
    process = talk.process
    for stray in check_ids(talk.output, asked["id"]):
        return stray
    if any(message.get("method") == asked["method"] for message in talk.output.messages):
        return Finding(
            "echoes-input",
            "error",
            "the program writes back what it is told: it is no MCP server",
            excerpt_of(talk.output.messages[-1]),
            "look whether this is the right program; some servers need a subcommand, as in `mcp`",
        )
    question = _asks(_said_by(process))
    if question is not None:
        return question
    process.close_input()
    found = await _first_of(
        _answers_at_the_end(talk, asked["id"], patience),
        _try(start_again, _framed(asked), patience, _of_framing),
        _try(start_again, encode_value({**asked, "id": 1}) + b"\n", patience, _of_zero),
        _try_modern(start_again, patience),
    )
    if found is not None:
        # One that only took long to start for the first time answers this, too.
        again = replace(patience, answer=min(patience.answer, patience.start))
        late = await _try(start_again, encode_value(asked) + b"\n", again, _of_slowness(patience))
        return late or found
    said = _said_by(process)  # some take their time for that, too
    return _asks(said) or _speaks_elsewhere(said) or _silent(said, patience)


def _said_by(process: WatchedProcess) -> str:
    said = process.errors[-_LOOKED_AT_BYTES:] + b"\n" + process.output[-_LOOKED_AT_BYTES:]
    return bytes(said).decode(errors="replace")


def _asks(said: str) -> Finding | None:
    """Tell whether a server waits for a person to answer."""
    if _PROMPT.search(said.rstrip("\n")) is None:
        return None
    return Finding(
        "waits-for-a-person",
        "error",
        "the server asks a question, and nobody is there to answer it",
        _tail(said),
        "give it what it asks for in `env` or `args`",
    )


def _silent(said: str, patience: Patience) -> Finding:
    return Finding(
        "no-answer",
        "error",
        f"the server runs, but does not answer `initialize` within {patience.start:g} s",
        _tail(said) or "it has written nothing at all",
        "see that it reads standard input and writes to standard output, and that nothing slow or "
        "blocking comes before that; a first download may just need more time",
    )


def _of_slowness(patience: Patience) -> Callable[[str], Finding]:
    def describe(answer: str) -> Finding:
        return Finding(
            "slow-start",
            "warning",
            f"the server did not answer within {patience.start:g} s, and does when it is started "
            "again",
            answer,
            "install the server rather than let npx, uvx or docker fetch it when it is started, "
            "and do slow work when it is first needed: hosts give up",
        )

    return describe


def _of_framing(answer: str) -> Finding:
    return Finding(
        "content-length-framing",
        "error",
        "the server wants a `Content-Length` header before each message, as in LSP",
        answer,
        "read and write one JSON message a line, without headers",
    )


def _of_zero(answer: str) -> Finding:
    return Finding(
        "id-zero-unanswered",
        "error",
        "the server does not answer a request whose id is 0, which is what hosts begin with",
        answer,
        "ask whether there is an `id`, rather than whether it is true",
    )


def _of_modern(answer: str) -> Finding:
    return Finding(
        "initialize-unanswered",
        "error",
        "the server speaks 2026-07-28 only, and does not even refuse `initialize`",
        answer,
        "answer unknown methods with the error -32601; better, serve the handshake as well, which "
        "most hosts begin with",
    )


async def _answers_at_the_end(
    talk: Conversation, request_id: str | int, patience: Patience
) -> Finding | None:
    """Tell whether the answer comes once the input is closed."""
    process = talk.process
    await process.wait_until(lambda: process.has_exited, patience.exit)
    response = talk.output.response(request_id)
    if response is None:
        return None
    return Finding(
        "answers-only-at-the-end",
        "error",
        "the server answers only when its input is closed",
        excerpt_of(response),
        "flush standard output after each message (`print(..., flush=True)`, `python -u`), and "
        "read the input line by line, rather than to its end",
    )


async def _try(
    start_again: StartAgain, data: bytes, patience: Patience, describe: Callable[[str], Finding]
) -> Finding | None:
    """Ask a new process in another way, and describe what it means that it answers."""
    process = await start_again()
    try:
        talk = Conversation(process, patience)
        process.send(data)

        def answers() -> list[dict[str, Any]]:
            return [one for one in talk.output.messages if "result" in one or "error" in one]

        await process.wait_until(
            lambda: process.has_exited or (talk.has_news() and bool(answers())), patience.answer
        )
        return describe(excerpt_of(answers()[-1])) if answers() else None
    finally:
        await process.end()


async def _try_modern(start_again: StartAgain, patience: Patience) -> Finding | None:
    process = await start_again()
    try:
        response = await Conversation(process, patience).discover(patience.answer)
        is_good = response is not None and "result" in response
        return _of_modern(excerpt_of(response)) if is_good and response else None
    finally:
        await process.end()


async def _first_of(*tries: Coroutine[Any, Any, Finding | None]) -> Finding | None:
    """Return the first finding of several tries, which are made at the same time."""
    tasks = {asyncio.ensure_future(one) for one in tries}
    try:
        for task in asyncio.as_completed(list(tasks)):
            found = await task
            if found is not None:
                return found
        return None
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.wait(tasks)


def _framed(message: dict[str, Any]) -> bytes:
    body = encode_value(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _speaks_elsewhere(said: str) -> Finding | None:
    """Tell whether a server says that it listens on a port."""
    url = _URL_OF_THIS_MACHINE.search(said)
    if _LISTENS.search(said) is None and url is None:
        return None
    url = url or _URL.search(said)
    where = f" at {url[0]}" if url is not None else ""
    return Finding(
        "serves-http",
        "error",
        f"the server listens on a network port{where}, rather than to its standard input",
        _tail(said),
        "start it with stdio (often an option such as `--transport stdio`), or give the host the "
        "URL in place of a command",
    )


def _tail(said: str) -> str:
    return said.strip()[-_LAST_CHARACTERS:]
