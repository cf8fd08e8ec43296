"""What the author of a server needs to test it; nothing of it is loaded before it is used.

`connect` is a client of a server over any transport, with scripted answers; `assert_contract`
holds a server to what it has promised. `wigwag.testing.plugin` makes fixtures of both for pytest.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wigwag.testing.answers import Asked, ScriptError
    from wigwag.testing.blocking_client import BlockingClient
    from wigwag.testing.connecting import connect
    from wigwag.testing.contract import (
        ContractBroken,
        ContractChanged,
        assert_contract,
        contract_of,
    )
    from wigwag.testing.hang_watch import ServerHangs
    from wigwag.testing.scripted_client import ScriptedClient

# pytest loads the plugin whenever it starts, also for projects that have no server.
_HOMES = {
    "Asked": "wigwag.testing.answers",
    "BlockingClient": "wigwag.testing.blocking_client",
    "ContractBroken": "wigwag.testing.contract",
    "ContractChanged": "wigwag.testing.contract",
    "ScriptError": "wigwag.testing.answers",
    "ScriptedClient": "wigwag.testing.scripted_client",
    "ServerHangs": "wigwag.testing.hang_watch",
    "assert_contract": "wigwag.testing.contract",
    "connect": "wigwag.testing.connecting",
    "contract_of": "wigwag.testing.contract",
}

__all__ = [
    "Asked",
    "BlockingClient",
    "ContractBroken",
    "ContractChanged",
    "ScriptError",
    "ScriptedClient",
    "ServerHangs",
    "assert_contract",
    "connect",
    "contract_of",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
