"""Finds out which eras and revisions of the protocol a server speaks, by trying each."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

from msgspec import Struct

from wigwag.client.targets import Open, Opener
from wigwag.doctor.content_checks.capabilities import check_undeclared
from wigwag.doctor.content_checks.grouping import grouped
from wigwag.doctor.content_checks.shapes import check_modern_members, fault_of
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.interview import Interview, interview
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.handshake import check_answer_to_initialize
from wigwag.errors import (
    ConnectionClosed,
    McpError,
    RemoteProtocolError,
    RequestFailed,
    RequestTimedOut,
)
from wigwag.jsonrpc.codes import METHOD_NOT_FOUND
from wigwag.protocol.client import may_be_http_sse
from wigwag.schema import (
    INITIALIZE,
    LATEST_LEGACY,
    LATEST_MODERN,
    LEGACY_REVISIONS,
    REVISIONS,
    SERVER_DISCOVER,
    TOOLS_LIST,
    UNSUPPORTED_PROTOCOL_VERSION,
    DiscoverResult,
    InitializeResult,
)

__all__ = ["check_eras"]

# No revision: what a client of times to come may propose.
_TO_COME: Final = "2099-01-01"

# A server takes about as long to start as it did before; this is for a busy machine.
_LENIENCE: Final = 3


class Attempt(Struct, kw_only=True):
    """What came of speaking one revision with a server.

    Attributes:
        revision: What was proposed.
        result: What the server answered to the first question.
        failure: Why there is no such answer.
        tools: The names of the tools on the first page of the list, if that was asked for.
    """

    revision: str
    result: dict[str, Any] | None = None
    failure: McpError | None = None
    tools: list[str] | None = None

    @property
    def agreed(self) -> Any:
        """The revision that the server wants to speak instead, or the same."""
        return None if self.result is None else self.result.get("protocolVersion")

    @property
    def is_good(self) -> bool:
        """Whether the revision can be spoken."""
        if self.revision == LATEST_MODERN:
            return self.result is not None
        return bool(self.agreed == self.revision)

    @property
    def is_refused(self) -> bool:
        """Whether the server answered, and said no."""
        return isinstance(self.failure, RequestFailed | RemoteProtocolError)

    def __str__(self) -> str:
        """What came of it, in a few words."""
        if self.is_good:
            return "works"
        if self.result is not None:
            return f"the server offers {self.agreed} instead"
        return str(self.failure)


async def check_eras(opener: Opener, *, patience: Patience, facts: Facts) -> AsyncIterator[Finding]:
    """Try eras and revisions, each on a connection of its own, and yield what is wrong.

    Args:
        opener: Opens the connections.
        patience: How long to wait.
        facts: Takes `revisions`, what came of each, and `eras`, those that work.
    """
    trial = _Trial(opener, patience)
    findings = await trial.run()
    attempts = trial.attempts
    facts["revisions"] = {r: str(attempts[r]) for r in REVISIONS if r in attempts}
    legacy = [attempts[r] for r in LEGACY_REVISIONS if r in attempts]
    modern = attempts.get(LATEST_MODERN)
    is_modern = modern is not None and modern.is_good
    is_legacy = any(attempt.is_good for attempt in legacy)
    works = {"legacy": is_legacy, "modern": is_modern}
    facts["eras"] = [era for era, is_good in works.items() if is_good]
    findings += _about_greetings(legacy, is_process=opener.is_process)
    findings += _findings(legacy, modern, trial.to_come)
    for finding in grouped(findings):
        yield finding


class _Trial:
    """Speaks one revision after the other with a server.

    Attributes:
        attempts: What came of each that was tried, by revision.
        to_come: What came of one that does not exist.
    """

    def __init__(self, opener: Opener, patience: Patience) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.to_come: Attempt | None = None
        self._opener = opener
        self._open: Open = opener.open
        self._patience = patience
        self._limit = patience.start  # of the first answer, the start included

    async def run(self) -> list[Finding]:
        """Try the newest of each era first, then the rest, and what does not exist."""
        findings = await self._try_newest_legacy()
        if LATEST_MODERN not in self.attempts:
            findings += await self._try_modern()
        if not _may_know_others(self.attempts[LATEST_LEGACY]):
            return findings
        await self._try_older()
        if self.to_come is None and any(attempt.result for attempt in self._legacy()):
            self.to_come = await self._greet(_TO_COME)
        return findings

    def _legacy(self) -> list[Attempt]:
        return [self.attempts[r] for r in LEGACY_REVISIONS if r in self.attempts]

    async def _try_older(self) -> None:
        """Try what was not tried yet, the oldest first: where that fails, too, all will."""
        for revision in LEGACY_REVISIONS:
            if revision not in self.attempts:
                self.attempts[revision] = await self._greet(revision)
                if not any(attempt.result for attempt in self._legacy()):
                    return

    async def _try_again(self, asked: Interview) -> list[Finding]:
        """Ask a process that speaks one revision for the others: to start it anew takes long.

        Most take that. What does not come out well is tried on a connection of its own afterwards.
        """
        with suppress(McpError):
            for revision in (*reversed(LEGACY_REVISIONS[:-1]), _TO_COME):
                attempt = Attempt(revision=revision, result=await asked.greet(revision))
                if revision == _TO_COME:
                    self.to_come = attempt
                elif attempt.is_good:
                    self.attempts[revision] = attempt
        attempt = Attempt(revision=LATEST_MODERN)
        with suppress(McpError):
            findings = await _discover(asked, attempt)
            if attempt.result is not None:
                self.attempts[LATEST_MODERN] = attempt
                return findings
        return []

    async def _try_newest_legacy(self) -> list[Finding]:
        attempt = Attempt(revision=LATEST_LEGACY)
        self.attempts[LATEST_LEGACY] = attempt
        begun = time.monotonic()
        try:
            async with interview(self._open, answer_timeout=self._limit) as asked:
                attempt.result = await asked.greet(LATEST_LEGACY)
                took = time.monotonic() - begun
                self._limit = max(self._patience.answer, _LENIENCE * took)
                attempt.tools = await _tools(asked, None)
                findings = await check_undeclared(asked.ask, attempt.result)
                if self._opener.is_process and attempt.is_good:
                    findings += await self._try_again(asked)
                return findings
        except McpError as error:
            attempt.failure = error
        if attempt.result is not None:  # it has gone later
            return []
        older = self._opener.open_older
        if older is None or self._open is older or not may_be_http_sse(attempt.failure):
            return []
        self._open = older
        return await self._try_newest_legacy()

    async def _try_modern(self) -> list[Finding]:
        attempt = Attempt(revision=LATEST_MODERN)
        self.attempts[LATEST_MODERN] = attempt
        is_legacy = self.attempts[LATEST_LEGACY].result is not None
        try:
            async with interview(self._opener.open, answer_timeout=self._limit) as asked:
                findings = await _discover(asked, attempt)
                if attempt.result is not None and not is_legacy:
                    ask = partial(asked.ask_modern, LATEST_MODERN)
                    findings += await check_undeclared(ask, attempt.result)
                return findings
        except McpError as error:
            attempt.failure = error
            hurt = _hurt_by_question(error, self._opener) if is_legacy else None
            return [] if hurt is None else [hurt]

    async def _greet(self, revision: str) -> Attempt:
        attempt = Attempt(revision=revision)
        try:
            async with interview(self._open, answer_timeout=self._limit) as asked:
                attempt.result = await asked.greet(revision)
        except McpError as error:
            attempt.failure = error
        return attempt


def _may_know_others(newest: Attempt) -> bool:
    """Tell from what came of the newest legacy revision whether there is a use in older ones."""
    failure = newest.failure
    if isinstance(failure, RequestFailed):
        return failure.code not in (METHOD_NOT_FOUND, UNSUPPORTED_PROTOCOL_VERSION)
    return newest.result is not None or newest.is_refused


async def _discover(asked: Interview, attempt: Attempt) -> list[Finding]:
    """Ask a server what it is, as a modern host does, and note what came of it.

    Raises:
        McpError: It did not answer, or refused.
    """
    result = await asked.ask_modern(LATEST_MODERN, SERVER_DISCOVER)
    if "supportedVersions" not in result:
        # Lenient servers answer `{}` to anything.
        attempt.failure = RemoteProtocolError("it answers with something else")
        return []
    attempt.result = result
    attempt.tools = await _tools(asked, LATEST_MODERN)
    problem = fault_of(result, DiscoverResult)
    broken = [] if problem is None else [_malformed(SERVER_DISCOVER, problem)]
    return [*broken, *check_modern_members(SERVER_DISCOVER, result)]


async def _tools(asked: Interview, modern: str | None) -> list[str] | None:
    """Return the names of the tools on the first page; `None` if there is no such list."""
    try:
        if modern is None:
            result = await asked.ask(TOOLS_LIST, {})
        else:
            result = await asked.ask_modern(modern, TOOLS_LIST)
    except McpError:
        return None
    tools = result.get("tools")
    if not isinstance(tools, list):
        return None
    return [str(tool.get("name")) for tool in tools if isinstance(tool, dict)]


def _hurt_by_question(error: McpError, opener: Opener) -> Finding | None:
    """Say what is wrong with a legacy server that does not answer what it does not know."""
    change = "answer methods that the server does not know with error -32601 (Method not found)"
    if isinstance(error, RequestTimedOut):
        return Finding(
            "silent-on-unknown-method",
            "warning",
            "the server does not answer what it does not know, so modern hosts wait in vain first",
            f"{SERVER_DISCOVER}: {error}",
            change,
        )
    if isinstance(error, ConnectionClosed) and opener.is_process:
        return Finding(
            "dies-of-unknown-method",
            "warning",
            "the server ends when it is asked what it does not know, as modern hosts do first",
            f"{SERVER_DISCOVER}: {error}",
            change,
        )
    return None


def _about_greetings(legacy: list[Attempt], *, is_process: bool) -> Iterator[Finding]:
    """Yield what is wrong with the first answer to `initialize` in which something is."""
    for attempt in legacy:
        if attempt.result is None:
            continue
        problem = _problem_of_greeting(attempt.result, is_process=is_process)
        if problem is not None:
            yield _malformed(INITIALIZE, problem)
            return


def _findings(
    legacy: list[Attempt], modern: Attempt | None, to_come: Attempt | None
) -> Iterator[Finding]:
    good = [attempt for attempt in legacy if attempt.result is not None]
    if good:
        yield from _about_refused([*legacy, *([to_come] if to_come else [])], good)
        yield from _about_promises(to_come)
    elif modern is not None and modern.is_good:
        yield _legacy_hosts_refused(legacy[-1])
    elif modern is not None and (modern.is_refused or legacy[-1].is_refused):
        yield Finding(
            "no-revision-works",
            "error",
            "the server answers, but neither modern nor legacy hosts can use it",
            "\n".join(f"{each.revision}: {each}" for each in (modern, legacy[-1])),
            "let it answer `initialize`, or `server/discover`, or both, as an SDK does by itself",
        )
    if modern is not None and legacy and modern.tools is not None:
        yield from _about_tools(legacy[-1].tools, modern.tools)


def _legacy_hosts_refused(attempt: Attempt) -> Finding:
    failure = attempt.failure
    answer = "is answered with" if attempt.is_refused else "fails"
    return Finding(
        "legacy-hosts-refused",
        "warning",
        f"hosts that begin with `initialize`, as most do, cannot use it: it speaks {LATEST_MODERN} "
        "alone",
        f"`initialize` of {attempt.revision} {answer}: {failure}",
        "let the server speak the legacy revisions, too (a server of Wigwag does, unless "
        f"`revisions=` leaves them out), or use a host that speaks {LATEST_MODERN}",
    )


def _about_refused(attempts: list[Attempt], good: list[Attempt]) -> Iterator[Finding]:
    refused = [attempt for attempt in attempts if attempt.is_refused]
    if refused:
        offered = ", ".join(dict.fromkeys(str(attempt.agreed) for attempt in good))
        yield Finding(
            "revision-refused",
            "error" if any(each.revision == LATEST_LEGACY for each in refused) else "warning",
            "clients that propose a revision which it does not know are refused",
            "\n".join(
                [
                    *(f"`initialize` of {each.revision}: {each.failure}" for each in refused),
                    f"it does speak {offered}",
                ]
            ),
            "answer `initialize` with what the server does speak, and let the client decide "
            "whether it can go on",
        )


def _about_promises(to_come: Attempt | None) -> Iterator[Finding]:
    if to_come is not None and to_come.agreed == _TO_COME:
        yield Finding(
            "agrees-to-any-revision",
            "warning",
            "the server agrees to speak whatever revision is proposed, even one it cannot know",
            f"`initialize` of {_TO_COME} is answered with protocolVersion {_TO_COME!r}",
            "compare the proposal with the revisions that the server knows, and answer any other "
            "with the newest of those",
        )


def _about_tools(legacy: list[str] | None, modern: list[str]) -> Iterator[Finding]:
    if legacy is None or set(legacy) == set(modern):
        return
    only_legacy = ", ".join(name for name in legacy if name not in modern)
    only_modern = ", ".join(name for name in modern if name not in legacy)
    yield Finding(
        "eras-have-different-tools",
        "warning",
        "hosts see other tools depending on the revision that they speak",
        f"{LATEST_LEGACY} alone: {only_legacy or 'none'}\n{LATEST_MODERN} alone: "
        f"{only_modern or 'none'}",
        "offer the same tools whatever is spoken",
    )


def _problem_of_greeting(result: dict[str, Any], *, is_process: bool) -> str | None:
    """Say what is wrong with an answer to `initialize`, unless it was told of the process."""
    if is_process and any(check_answer_to_initialize({"result": result})):
        return None
    return fault_of(result, InitializeResult)


def _malformed(method: str, problem: str) -> Finding:
    return Finding(
        "broken-handshake" if method == INITIALIZE else "broken-discover",
        "error",
        f"strict hosts do not accept what the server answers to `{method}`",
        problem,
        "put that right: members that are absent are left out rather than null, and every result "
        f"of `{method}` has the members that its schema demands",
    )
