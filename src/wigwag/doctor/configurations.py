"""Examines the servers of a host's configuration, and the file itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from wigwag.client.configuration import ServerEntry, UrlServer, read_configuration
from wigwag.client.variables import Variables
from wigwag.doctor.configuration_checks.entries import check_entry
from wigwag.doctor.configuration_checks.files import check_file, servers_in
from wigwag.doctor.configuration_checks.hosts import ConfiguredHost, configurations_here, host_of
from wigwag.doctor.diagnosing import OnStep, diagnose
from wigwag.doctor.findings import Diagnosis, Finding, gravest_first
from wigwag.doctor.patience import Patience
from wigwag.transports.stdio_client import StdioServerParameters

__all__ = ["diagnose_configuration"]


async def diagnose_configuration(
    file: str | os.PathLike[str],
    *,
    server: str | None = None,
    patience: Patience | None = None,
    on_step: OnStep | None = None,
) -> list[Diagnosis]:
    """Find out what is wrong with a host's configuration, and with each of its servers.

    Which host a file is for is told by its name, as in `claude_desktop_config.json` or
    `.vscode/mcp.json`; servers are started in the folder in which that host starts them.

    Args:
        file: The path of the JSON file.
        server: The name of the one server to examine; by default all that are not disabled.
        patience: How long to wait for what.
        on_step: Called with what is done next, in a few words.

    Returns:
        The diagnosis of the file, then that of each server.

    Raises:
        ValueError: There is no server of that name.
        OSError: The file cannot be read.
    """
    path = _existing(file)
    host = host_of(path)
    found = list(check_file(path, host))
    diagnoses = [Diagnosis(str(path), gravest_first(found), {"host": host.name})]
    entries = _entries(path, host)
    if server is not None:
        if server not in entries:
            known = ", ".join(entries) or "none"
            raise ValueError(f"{path} has no server {server!r}; there are: {known}")
        entries = {server: entries[server]}
    for name, fields in entries.items():
        examination = _Entry(path, host, name, fields)
        diagnoses.append(await examination.diagnosis(patience, on_step))
    return diagnoses


def _existing(file: str | os.PathLike[str]) -> Path:
    path = Path(file).expanduser()
    if not path.is_file():
        known = ", ".join(map(str, configurations_here())) or "none that are known"
        raise FileNotFoundError(f"there is no file {path}; on this machine there are: {known}")
    return path


def _entries(path: Path, host: ConfiguredHost) -> Mapping[str, Any]:
    try:
        return servers_in(read_configuration(path), host)
    except ValueError:  # which is told already
        return {}


class _Entry:
    """A server of a configuration, as it is examined."""

    def __init__(self, path: Path, host: ConfiguredHost, name: str, fields: Any) -> None:
        self._path = path
        self._host = host
        self._name = name
        self._fields = fields

    async def diagnosis(self, patience: Patience | None, on_step: OnStep | None) -> Diagnosis:
        title = f"{self._name} ({self._path})"
        found = list(check_entry(self._name, self._fields, self._host))
        if isinstance(self._fields, Mapping) and self._fields.get("disabled") is True:
            note = Finding(
                "server-disabled",
                "note",
                "the server is disabled, and was not started",
                '"disabled": true',
                "remove that to use it",
                self._name,
            )
            return Diagnosis(title, gravest_first([*found, note]), {})
        if any(finding.severity == "error" for finding in found):
            return Diagnosis(title, gravest_first(found), {})
        try:
            target = self._target()
        except ValueError as error:
            return Diagnosis(title, gravest_first([*found, self._unresolved(error)]), {})

        def say(step: str) -> None:
            if on_step is not None:
                on_step(f"{self._name}: {step}")

        headers = dict(target.headers) if isinstance(target, UrlServer) else None
        diagnosis = await diagnose(
            target.url if isinstance(target, UrlServer) else target,
            headers=headers or None,
            auth=target.auth if isinstance(target, UrlServer) else None,
            patience=patience,
            on_step=say,
        )
        also = [one for one in diagnosis.findings if one.code != "relative-path"]
        return Diagnosis(title, gravest_first([*found, *also]), diagnosis.facts)

    def _target(self) -> StdioServerParameters | UrlServer:
        """Return what the host starts or connects to."""
        target = ServerEntry(self._name, self._fields, self._variables()).resolve()
        if isinstance(target, StdioServerParameters) and target.cwd is None:
            return replace(target, cwd=self._host.folder_for(self._path))
        return target

    def _variables(self) -> Variables:
        """Return what variables stand for; those that the server is given, it fills in itself."""
        given = self._fields.get("env")
        own = {
            name: f"${{{name}}}"
            for name, value in (given.items() if isinstance(given, Mapping) else ())
            if not re.search(rf"\$\{{(?:env:)?{re.escape(name)}\b", str(value))  # passed on
        }
        folder = self._host.folder_for(self._path).absolute()
        return Variables(workspace_folder=folder, environment={**own, **os.environ})

    def _unresolved(self, error: ValueError) -> Finding:
        text = str(error)
        if "environment variable" in text:
            code, change = "environment-variable-absent", "set it where the host is started"
        elif "${input:" in text:
            return Finding(
                "input-without-value",
                "note",
                "the host asks for a value of the server, so that it cannot be started from here",
                text,
                "examine its command, with the value: `wigwag doctor -e NAME=VALUE -- COMMAND`",
                self._name,
            )
        else:
            code, change = "invalid-entry", "correct that field"
        return Finding(code, "error", "the entry cannot be used", text, change, self._name)
