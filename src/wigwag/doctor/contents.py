"""Finds out what is wrong with what a server offers, once it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.util import find_spec
from typing import Any, Final

from wigwag.client.client import Client
from wigwag.doctor.content_checks.capabilities import check_declared
from wigwag.doctor.content_checks.grouping import grouped
from wigwag.doctor.content_checks.instructions import check_introduction
from wigwag.doctor.content_checks.listing import KINDS, Kind, list_everything
from wigwag.doctor.content_checks.prompts import check_prompts
from wigwag.doctor.content_checks.resources import check_resources, check_templates
from wigwag.doctor.content_checks.results import check_results
from wigwag.doctor.content_checks.tools import check_tools
from wigwag.doctor.findings import Facts, Finding
from wigwag.doctor.patience import Patience
from wigwag.errors import TransportError
from wigwag.protocol.gates import server_declares
from wigwag.schema import MODERN_REVISIONS

__all__ = ["check_contents"]

_SCHEMAS_NOT_CHECKED: Final = Finding(
    "schemas-not-checked",
    "note",
    "whether the schemas of tools are sound was not looked at: that takes jsonschema-rs",
    "",
    "install it: pip install 'wigwag[schema]'",
)


async def check_contents(
    client: Client, *, patience: Patience, facts: Facts
) -> AsyncIterator[Finding]:
    """Examine what a server offers, over an open client, and yield what is wrong.

    Everything is listed; some of what can be read is read. Of the tools those are called that say
    that they only read and that need no arguments, where they promise what they return.

    Args:
        client: A connected client of the server.
        patience: How long to wait in all; the client has its own limits for each answer.
        facts: Takes `offers`, how many there are of each kind.
    """
    findings: list[Finding] = []
    examination = _Examination(client, findings)
    try:
        async with asyncio.timeout(patience.total):
            await examination.run()
    except TransportError as error:
        findings.append(_dies(examination.step, error))
    except TimeoutError:
        findings.append(_takes_too_long(examination.step, patience.total))
    facts["offers"] = {kind: len(items) for kind, items in examination.listed.items()}
    if find_spec("jsonschema_rs") is None and facts["offers"].get("tool"):
        findings.append(_SCHEMAS_NOT_CHECKED)
    for finding in grouped(findings):
        yield finding


class _Examination:
    """One look at all that a server offers.

    Attributes:
        listed: What it has listed, by the names of the kinds.
        step: What it is asked for at the moment.
    """

    def __init__(self, client: Client, findings: list[Finding]) -> None:
        self.listed: dict[str, list[dict[str, Any]]] = {}
        self.step = ""
        self._client = client
        self._findings = findings

    async def run(self) -> None:
        """Look at everything.

        Raises:
            TransportError: The server has gone meanwhile.
        """
        for kind in KINDS:
            await self._list(kind)
        tools, prompts = self.listed["tool"], self.listed["prompt"]
        resources = self.listed["resource"]
        is_modern = self._client.revision in MODERN_REVISIONS
        self._findings += check_tools(tools, is_modern=is_modern)
        self._findings += check_templates(self.listed["resource template"])
        self._findings += check_introduction(
            self._client.server_info, self._client.instructions, self._names(), self._arguments()
        )
        self.step = "what it declares"
        self._findings += await check_declared(self._client, prompts, resources)
        self.step = "its resources"
        self._findings += await check_resources(self._client, resources)
        self.step = "its prompts"
        self._findings += await check_prompts(self._client, prompts)
        self.step = "the results of its tools"
        self._findings += await check_results(self._client, tools)

    async def _list(self, kind: Kind) -> None:
        client = self._client
        self.step = f"its {kind.name}s"
        self.listed[kind.name] = []
        if server_declares(client.capabilities, kind.method, client.revision):
            listed = await list_everything(client, kind)
            self.listed[kind.name] = listed.items
            self._findings += listed.findings

    def _names(self) -> set[str]:
        return {
            item[key]
            for items in self.listed.values()
            for item in items
            for key in ("name", "uri", "uriTemplate")
            if isinstance(item.get(key), str)
        }

    def _arguments(self) -> set[str]:
        found: set[str] = set()
        for tool in self.listed["tool"]:
            schema = tool.get("inputSchema")
            taken = schema.get("properties") if isinstance(schema, dict) else None
            found.update(taken if isinstance(taken, dict) else ())
        for prompt in self.listed["prompt"]:
            taken = prompt.get("arguments")
            for one in taken if isinstance(taken, list) else ():
                found.add(str(one.get("name")) if isinstance(one, dict) else "")
        return found


def _dies(step: str, error: TransportError) -> Finding:
    return Finding(
        "dies-of-request",
        "error",
        f"the server is gone when it is asked for {step}",
        str(error),
        "see what it says at its end, and let what fails become an error that is answered",
    )


def _takes_too_long(step: str, limit: float) -> Finding:
    return Finding(
        "examination-cut-short",
        "warning",
        "the server takes so long to answer that not all of it was looked at",
        f"{limit:g} s were over while it was asked for {step}",
        "see what takes it so long: hosts ask for lists at the start of each conversation",
    )
