from pathlib import Path

import pytest

from wigwag import Server
from wigwag.testing import ContractBroken
from wigwag.testing.contract_file import ContractFile


def test_a_contract_is_kept_beside_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    server = Server("shop", version="1.0.0")
    ContractFile.read(server, tmp_path).check()
    ContractFile.read(server, tmp_path).check("other.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mcp_contract.json", "other.json"]

    @server.tool
    def find() -> None:
        """Find nothing."""

    changed = ContractFile.read(server, tmp_path)
    assert list(changed.contract["tools"]) == ["find"]
    with pytest.raises(ContractBroken, match="the tool `find`"):
        changed.check(strict=True)
