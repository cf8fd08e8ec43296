"""What a server offers, read once, to be held to a file beside the test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final, Self

from wigwag.testing.contract import check_contract, contract_of
from wigwag.testing.contract_changes import Contract

FILE_NAME: Final = "mcp_contract.json"


class ContractFile:
    """The contract of a server; the fixture `mcp_contract` is one.

    Args:
        contract: What the server offers.
        folder: Where the test is.
    """

    def __init__(self, contract: Contract, folder: Path) -> None:
        self.contract = contract
        """What the server offers, as plain JSON values."""
        self._folder = folder

    @classmethod
    def read(cls, server: Any, folder: Path) -> Self:
        """Ask a server; no event loop may be running in this thread."""
        with asyncio.Runner() as runner:
            return cls(runner.run(contract_of(server)), folder)

    def check(self, file: str = FILE_NAME, *, strict: bool = False) -> None:
        """See that the server still offers what it did; see `assert_contract`.

        Args:
            file: The file that the contract is kept in, beside the test.
            strict: Whether changes fail that break nothing.

        Raises:
            ContractBroken: Somebody who relied on the contract is in trouble.
        """
        check_contract(self.contract, self._folder / file, strict=strict)
