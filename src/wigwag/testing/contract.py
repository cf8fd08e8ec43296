"""Holds a server to its contract: what it offers is kept in a file, and changes that break fail."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from wigwag.client.client import Client
from wigwag.testing.connecting import connect
from wigwag.testing.contract_changes import Change, Contract, compare

__all__ = ["ContractBroken", "ContractChanged", "assert_contract", "contract_of"]

FORMAT: Final = 1
"""What a file of another format says is not understood here."""
UPDATE: Final = "WIGWAG_UPDATE_CONTRACT"
"""The variable that has files written anew; pytest's `--mcp-update-contract` sets it."""

# They change without anybody having changed the server.
_PASSING: Final = ("size", "_meta")


class ContractBroken(AssertionError):
    """A server does not offer any more what somebody relies on."""


class ContractChanged(UserWarning):
    """A server offers more than its contract says, or says it in other words."""


async def contract_of(target: Any, **options: Any) -> dict[str, Any]:
    """Return all that a server offers, as plain JSON values.

    Args:
        target: A connected client, or what `connect` takes.
        options: As for `connect`, when it is not a client.
    """
    if not isinstance(target, Client):
        async with connect(target, **options) as client:
            return await contract_of(client)
    tools = (await target.list_tools()).tools
    prompts = (await target.list_prompts()).prompts
    resources = (await target.list_resources()).resources
    templates = (await target.list_resource_templates()).resource_templates
    return {
        "format": FORMAT,
        "server": target.server_info.name if target.server_info else None,
        "revision": target.protocol_version,
        "capabilities": msgspec.to_builtins(target.server_capabilities),
        "tools": _by("name", tools),
        "prompts": {name: _with_named_arguments(p) for name, p in _by("name", prompts).items()},
        "resources": _by("uri", resources),
        "resourceTemplates": _by("uriTemplate", templates),
    }


async def assert_contract(
    target: Any, path: str | os.PathLike[str], *, strict: bool = False, **options: Any
) -> None:
    """See that a server still offers what it did.

    The file is written when there is none yet, and anew when the environment variable
    `WIGWAG_UPDATE_CONTRACT` is set; it belongs into version control. Names, schemas and what is
    required count; descriptions and order do not.

    Args:
        target: A connected client, or what `connect` takes.
        path: The file that the contract is kept in.
        strict: Whether changes fail that break nothing; otherwise they are a warning,
            `ContractChanged`.
        options: As for `connect`, when it is not a client.

    Raises:
        ContractBroken: Somebody who relied on the contract is in trouble; or there is no file, and
            this is a CI run (the variable `CI` is set).
    """
    check_contract(await contract_of(target, **options), Path(path), strict=strict)


def check_contract(contract: Contract, path: Path, *, strict: bool = False) -> None:
    """Compare a contract with that in a file; see `assert_contract`."""
    if _is_set(UPDATE) or not path.exists():
        if not _is_set(UPDATE) and _is_set("CI"):
            raise ContractBroken(
                f"there is no contract in {path}: run the test where you develop, and commit the "
                "file that it writes"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(contract, indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        return
    changes = compare(_read(path), contract)
    also = f"\nIt has also changed:\n{_listed(changes.others)}" if changes.others else ""
    if changes.breaks:
        raise ContractBroken(
            f"the server breaks its contract, {path}:\n{_listed(changes.breaks)}{also}\n{_ADVICE}"
        )
    if changes.others:
        text = f"the contract, {path}, is behind:\n{_listed(changes.others)}\n{_ADVICE}"
        if strict:
            raise ContractBroken(text)
        warnings.warn(text, ContractChanged, stacklevel=2)


_ADVICE: Final = (
    "If that is meant, run `pytest --mcp-update-contract`, or set WIGWAG_UPDATE_CONTRACT=1, and "
    "commit the file."
)


def _listed(changes: Iterable[Change]) -> str:
    lines: list[str] = []
    whom = None
    for change in changes:
        if change.whom != whom:
            whom = change.whom
            lines.append(f"  {whom}:")
        lines.append(f"    {change.text}")
    return "\n".join(lines)


def _read(path: Path) -> dict[str, Any]:
    try:
        contract: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        found = contract.get("format")
    except (ValueError, AttributeError) as error:
        raise ContractBroken(f"{path} is no contract: {error}") from None
    if found != FORMAT:
        raise ContractBroken(f"{path} is a contract of format {found}, not of {FORMAT}. {_ADVICE}")
    return contract


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in ("", "0", "false")


def _by(member: str, features: Iterable[Any]) -> dict[str, Any]:
    """Return features as plain values, by what identifies them, in its order."""
    plain = [msgspec.to_builtins(feature) for feature in features]
    return {
        each[member]: {
            name: value for name, value in each.items() if name not in (member, *_PASSING)
        }
        for each in sorted(plain, key=lambda each: each[member])
    }


def _with_named_arguments(prompt: dict[str, Any]) -> dict[str, Any]:
    arguments = prompt.get("arguments", [])
    named = {each["name"]: {k: v for k, v in each.items() if k != "name"} for each in arguments}
    return {**prompt, "arguments": named}
