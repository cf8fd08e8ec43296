"""Asks all parts of the doctor about one server, in turn."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wigwag.client.client import Client
from wigwag.client.link import Timeouts
from wigwag.client.targets import Opener, opener_for, resolve_target
from wigwag.doctor.contents import check_contents
from wigwag.doctor.eras import check_eras
from wigwag.doctor.findings import Diagnosis, Facts, Finding, gravest_first
from wigwag.doctor.patience import Patience
from wigwag.doctor.secrets import shown_command, without_secrets
from wigwag.errors import McpError
from wigwag.transports.stdio_client import StdioServerParameters

if TYPE_CHECKING:
    import os

    from wigwag.client.authorization.choosing import Auth
    from wigwag.transports.http_client_engine import TLS

__all__ = ["diagnose"]

# A scheme that is none, or a host with a port; other addresses are of the client.
_is_meant_as_url: Final = re.compile(r"(?!tcp:|unix:)([a-z]+:/|[\w.-]+:\d+(/|$))", re.I).match

OnStep = Callable[[str], object]


class Ways(NamedTuple):
    """The ways to talk to the server that is examined.

    Attributes:
        client: Makes a client of it, not connected yet.
        opener: Opens bare connections to it.
    """

    client: Callable[[], Client]
    opener: Opener


async def diagnose(  # noqa: PLR0913 - each is a keyword of its own
    target: Any,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Auth | None = None,
    ssl: TLS | None = None,
    call: tuple[str, Mapping[str, Any]] | None = None,
    patience: Patience | None = None,
    on_step: OnStep | None = None,
) -> Diagnosis:
    """Find out what is wrong with a server, and what to change.

    It is started, or connected to, several times, as a host would do it. What it offers is listed,
    and some of what can be read is read. No tool is called but those that say that they only read,
    that need no arguments, and that promise what they return.

    Args:
        target: What `Client` takes: a command as a list, a URL, a Python file, an entry of a
            configuration.
        env: Variables for a process, laid over a safe part of this process's environment.
        cwd: The folder a process starts in.
        headers: What HTTP requests carry besides.
        auth: How requests to a URL are authorized, as `Client` takes it.
        ssl: Which HTTPS servers are trusted, as `Client` takes it.
        call: At a URL, a tool that reports progress and its arguments: it is called, to see whether
            the reports come when they are made.
        patience: How long to wait for what.
        on_step: Called with what is done next, in a few words.

    Raises:
        ValueError: The target makes no sense.
        OSError: The file of a configuration cannot be read.
        TypeError: It is no target.
    """
    patience = patience or Patience()
    examination = _Examination(patience, on_step or (lambda _: None))
    found = resolve_target(target)
    if found is None:
        misspelt = _misspelt(target)
        if misspelt is not None:
            return Diagnosis(misspelt.evidence, [misspelt], examination.facts)
        title = str(target)
        ways = _ways(target, patience)
        findings = [finding async for finding in examination.of_answers(ways)]
    elif isinstance(found, StdioServerParameters):
        server = _laid_over(found, env, cwd)
        given = server.env or {}
        title = shown_command([server.command, *server.args], given)
        ways = _ways(server, patience, on_stderr=lambda _: None)
        findings = [
            without_secrets(finding, given)
            async for finding in examination.of_process(server, ways)
        ]
    else:
        from wigwag.doctor.urls import check_url  # noqa: PLC0415 - not for processes
        from wigwag.transports.http_client_engine import public_url  # noqa: PLC0415 - as it says

        title = public_url(found.url)
        sent = {**found.headers, **(headers or {})}
        options: dict[str, Any] = {"headers": sent or None}
        options["auth"] = auth = found.auth if auth is None else auth
        options["ssl"] = ssl
        ways = _ways(found.url, patience, **options)
        if isinstance(auth, str) and auth != "oauth":
            sent = {**sent, "Authorization": f"Bearer {auth}"}
        on_way = partial(check_url, found.url, headers=sent, tls=ssl, call=call)
        secrets = _secrets_in(sent)
        findings = [
            without_secrets(finding, secrets)
            async for finding in examination.of_url(on_way, ways, has_login=auth is not None)
        ]
    return Diagnosis(title, gravest_first(findings), examination.facts)


def _secrets_in(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the values of headers, and tokens without their schemes, each under some name."""
    values = [part for value in headers.values() for part in (value, *value.split()[1:])]
    return {f"secret {at}": value for at, value in enumerate(values)}


def _misspelt(target: Any) -> Finding | None:
    """Return what is wrong with a target that was to be a URL; `None` if it was not."""
    if not isinstance(target, str) or not _is_meant_as_url(target):
        return None
    from wigwag.doctor.url_checks.connections import check_spelling  # noqa: PLC0415 - rare

    return check_spelling(target)


class _Examination:
    """The parts of the doctor that are asked for each kind of target."""

    def __init__(self, patience: Patience, on_step: OnStep) -> None:
        self.facts: Facts = {}
        self._patience = patience
        self._on_step = on_step

    async def of_process(self, server: StdioServerParameters, ways: Ways) -> AsyncIterator[Finding]:
        from wigwag.doctor.processes import check_process  # noqa: PLC0415 - not for URLs

        self._on_step("starting the server as a host would")
        has_fault = False
        async for finding in check_process(server, patience=self._patience, facts=self.facts):
            has_fault |= finding.severity == "error"
            yield finding
        if has_fault and "seconds_to_answer" not in self.facts:
            return  # it is known why nobody can connect, and to try takes its time
        async for finding in self.of_answers(ways, is_explained=has_fault):
            yield finding

    async def of_url(
        self, check_way: Callable[..., AsyncIterator[Finding]], ways: Ways, *, has_login: bool
    ) -> AsyncIterator[Finding]:
        self._on_step("looking at the way to the URL")
        has_fault = False
        async for finding in check_way(patience=self._patience, facts=self.facts):
            has_fault |= finding.severity == "error"
            yield finding
        if "transport" not in self.facts and not (has_login and "wants_token" in self.facts):
            return  # there is nothing to talk to, and it is known why
        async for finding in self.of_answers(ways, is_explained=has_fault):
            yield finding

    async def of_answers(self, ways: Ways, *, is_explained: bool = False) -> AsyncIterator[Finding]:
        """Examine what a server says, if it can be connected to.

        Args:
            ways: The ways to talk to it.
            is_explained: Whether it is known already why that cannot be.
        """
        self._on_step("connecting to it")
        client = ways.client()
        try:
            refusal = await _refusal_of(client)
            if refusal is None:
                async for finding in self._of_contents(client):
                    yield finding
        finally:
            await client.close()
        if refusal is None:
            async for finding in self._of_eras(ways.opener):
                yield finding
        elif not is_explained:
            async for finding in self._of_refusal(ways.opener, refusal):
                yield finding

    async def _of_contents(self, client: Client) -> AsyncIterator[Finding]:
        self.facts["revision"] = client.revision
        if client.server_info is not None:
            self.facts["server"] = f"{client.server_info.name} {client.server_info.version}"
        self._on_step("looking at what it offers")
        async for finding in check_contents(client, patience=self._patience, facts=self.facts):
            yield finding

    async def _of_eras(self, opener: Opener) -> AsyncIterator[Finding]:
        self._on_step("trying each revision of the protocol")
        try:
            async for finding in check_eras(opener, patience=self._patience, facts=self.facts):
                yield finding
        finally:
            if opener.auth is not None:
                await opener.auth.aclose()

    async def _of_refusal(self, opener: Opener, error: McpError) -> AsyncIterator[Finding]:
        """Find out why no client can connect."""
        is_explained = False
        async for finding in self._of_eras(opener):
            is_explained |= finding.is_fault
            yield finding
        if not is_explained:
            yield Finding(
                "cannot-connect",
                "error",
                "a client cannot connect to the server",
                str(error),
                "see what the server says, and whether it is an MCP server at all",
            )


async def _refusal_of(client: Client) -> McpError | None:
    """Connect a client; return why that cannot be, if it cannot."""
    try:
        await client.connect()
    except McpError as error:
        return error
    return None


def _ways(target: Any, patience: Patience, **options: Any) -> Ways:
    limits = Timeouts(
        request=patience.answer, ceiling=patience.total, connect=patience.start, probe=None
    )
    client = partial(Client, target, timeouts=limits, heal=False, cache=False, **options)
    return Ways(client, opener_for(target, **options))


def _laid_over(
    server: StdioServerParameters,
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
) -> StdioServerParameters:
    from msgspec.structs import replace  # noqa: PLC0415 - few give them

    if env is not None:
        server = replace(server, env={**(server.env or {}), **env})
    if cwd is not None:
        server = replace(server, cwd=cwd)
    return server
