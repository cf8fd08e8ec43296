"""Finds out why a server that is started as a process does not work."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.doctor.process_checks.commands import check_command
from wigwag.doctor.process_checks.conversation import Conversation
from wigwag.doctor.process_checks.departure import check_departure
from wigwag.doctor.process_checks.handshake import check_answer_to_initialize, check_ids, excerpt_of
from wigwag.doctor.process_checks.output_faults import output_findings
from wigwag.doctor.process_checks.silence import explain_silence
from wigwag.doctor.process_checks.start import Start
from wigwag.doctor.process_checks.start_failures import Ending, explain_end
from wigwag.doctor.process_checks.terminal_variables import find_needed_variables
from wigwag.doctor.process_checks.watched_process import WatchedProcess
from wigwag.doctor.secrets import without_secrets
from wigwag.errors import ServerStartFailed
from wigwag.schema import PING, TOOLS_LIST
from wigwag.transports.stdio_client import StdioServerParameters

__all__ = ["check_process"]

_MUCH_STDERR_BYTES: Final = 256 * 1024
_PERHAPS_FOR_WANT_OF_VARIABLES: Final = (
    "crash-at-start",
    "exits-at-once",
    "missing-module",
    "package-not-fetched",
)


async def check_process(
    server: StdioServerParameters, *, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Start a server as a host would, watch it, and yield what is wrong.

    Args:
        server: How it is started.
        patience: How long to wait.
        facts: Takes what else is found out: `seconds_to_answer`, and `exit_code` where the server
            has ended by itself.
    """
    start = Start.of(server)
    async for finding in _Checkup(start, patience, facts).findings():
        yield without_secrets(finding, start.given)


class _Checkup:
    """One examination of a process."""

    def __init__(self, start: Start, patience: Patience, facts: Facts) -> None:
        self._start = start
        self._patience = patience
        self._facts = facts

    async def findings(self) -> AsyncIterator[Finding]:
        is_hopeless = False
        for finding in check_command(self._start):
            is_hopeless |= finding.severity == "error"
            yield finding
        if is_hopeless:
            return
        try:
            process = await self._spawn()
        except (OSError, ServerStartFailed) as error:
            yield self._refused(error)
            return
        talk = Conversation(process, self._patience)
        try:
            async for finding in self._talk(talk):
                yield finding
        finally:
            await process.end()
        async for finding in output_findings(talk.output, self._start, self._patience):
            yield finding
        for finding in self._of_stderr(process):
            yield finding

    async def _spawn(self) -> WatchedProcess:
        assert self._start.program is not None  # `check_command` has seen to it
        return await WatchedProcess.start(
            self._start.program,
            self._start.args,
            env=self._start.environment,
            cwd=self._start.cwd,
        )

    def _refused(self, error: Exception) -> Finding:
        return Finding(
            "cannot-start",
            "error",
            "the system refuses to start the program",
            str(error),
            "see that it is a program for this machine, or name the interpreter that runs it",
        )

    async def _talk(self, talk: Conversation) -> AsyncIterator[Finding]:
        """Have the beginning of a conversation, up to its end."""
        process, patience = talk.process, self._patience
        response = await talk.initialize()
        seconds = time.monotonic() - process.began
        if response is None and process.has_exited:
            yield await self._ended(process, seconds)
            return
        if response is None:
            yield await explain_silence(talk, talk.first_request, self._spawn, patience)
            return
        self._facts["seconds_to_answer"] = round(seconds, 3)
        if seconds > patience.slow_start:
            yield self._slow(seconds)
        if "error" in response:
            async for finding in self._refusal(talk, response):
                yield finding
        else:
            for finding in check_answer_to_initialize(response):
                yield finding
            async for finding in self._go_on(talk, response):
                yield finding
        if not process.has_exited:
            async for finding in check_departure(process, patience, self._facts):
                yield finding

    async def _ended(self, process: WatchedProcess, seconds: float) -> Finding:
        exit_code = process.exit_code or 0
        self._facts["exit_code"] = exit_code
        ending = Ending(
            start=self._start, exit_code=exit_code, stderr=process.stderr, seconds=seconds
        )
        finding = await explain_end(ending)
        if finding.code in _PERHAPS_FOR_WANT_OF_VARIABLES:
            needed = await find_needed_variables(self._start, finding, self._patience)
            return needed or finding
        return finding

    def _slow(self, seconds: float) -> Finding:
        return Finding(
            "slow-start",
            "warning",
            f"the server needs {seconds:.1f} s to answer for the first time",
            f"`initialize` was answered {seconds:.1f} s after the start",
            "do slow work when it is first needed, not at start; install the server rather than "
            "let npx, uvx or docker fetch it each time. Some hosts give up after 10 s",
        )

    async def _refusal(
        self, talk: Conversation, response: dict[str, Any]
    ) -> AsyncIterator[Finding]:
        """Tell a server of the modern era alone from one that fails."""
        discovered = await talk.discover(self._patience.answer)
        if discovered is not None and "result" in discovered:
            return  # what hosts make of that is told with the eras
        yield Finding(
            "handshake-refused",
            "error",
            "the server answers `initialize` with an error",
            excerpt_of(response),
            "look into the server for what it complains of; it must accept whatever revision is "
            "asked for, and answer with one that it speaks",
        )

    async def _go_on(self, talk: Conversation, response: dict[str, Any]) -> AsyncIterator[Finding]:
        """Do what hosts do behind the handshake."""
        process = talk.process
        talk.confirm()
        await talk.listen(self._patience.quiet)
        result = response.get("result")
        capabilities = result.get("capabilities") if isinstance(result, dict) else None
        asks_tools = isinstance(capabilities, dict) and "tools" in capabilities
        for method in (PING, TOOLS_LIST) if asks_tools else (PING,):
            if process.has_exited:
                break
            request_id = f"wigwag-{method}"
            answer = await talk.ask(
                method, None, request_id=request_id, seconds=self._patience.answer
            )
            if answer is None and not process.has_exited:
                strays = list(check_ids(talk.output_since_last, request_id))
                yield strays[0] if strays else self._unanswered(method)
        if process.has_exited:
            yield self._died(process)

    def _unanswered(self, method: str) -> Finding:
        return Finding(
            "no-answer",
            "error",
            f"the server does not answer `{method}` within {self._patience.answer:g} s",
            "it has answered `initialize` before",
            "answer every request that has an id, if only with the error -32601",
        )

    def _died(self, process: WatchedProcess) -> Finding:
        seconds = time.monotonic() - process.began
        ending = Ending(
            start=self._start,
            exit_code=process.exit_code or 0,
            stderr=process.stderr,
            seconds=seconds,
        )
        return ending.finding(
            "dies-after-handshake",
            f"the server ends once a host goes on: {ending.manner}",
            "put right what its last words complain of; it has to run until its input is closed",
        )

    def _of_stderr(self, process: WatchedProcess) -> Iterator[Finding]:
        if process.error_bytes > _MUCH_STDERR_BYTES:
            yield Finding(
                "stderr-flood",
                "warning",
                f"the server writes {process.error_bytes // 1024} KiB to its standard error, "
                "though it was asked for next to nothing",
                process.stderr[:300],
                "lower its log level: hosts keep all of it, and some do not read it, so that the "
                "server stands still",
            )
