import json
from pathlib import Path

import pytest

from wigwag import Client, Server
from wigwag.testing import ContractBroken, ContractChanged, assert_contract, contract_of

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a CI run, nor one that writes contracts anew."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("WIGWAG_UPDATE_CONTRACT", raising=False)


def shop(*, has_limit: bool = False, must_limit: bool = False, says: str = "Find.") -> Server:
    server = Server("shop", version="1.0.0")

    def find(word: str) -> list[str]:
        return [word]

    def find_some(word: str, limit: int = 3) -> list[str]:
        return [word] * limit

    def find_few(word: str, limit: int) -> list[str]:
        return [word] * limit

    chosen = find_few if must_limit else find_some if has_limit else find
    server.tool(name="find", description=says)(chosen)

    @server.prompt
    def greet(name: str) -> str:
        """Greet."""
        return f"Greet {name}."

    @server.resource("shop://opening-hours", mime_type="text/plain")
    def hours() -> str:
        return "all day"

    @server.resource("shop://items/{item}")
    def item(item: str) -> str:
        return item

    return server


async def test_a_contract_has_all_that_a_server_offers() -> None:
    contract = await contract_of(shop())
    assert contract["server"] == "shop"
    assert contract["revision"] == "2026-07-28"
    assert contract["capabilities"]["tools"] == {"listChanged": True}
    assert contract["tools"]["find"]["inputSchema"]["required"] == ["word"]
    assert contract["tools"]["find"]["description"] == "Find."
    assert contract["prompts"]["greet"]["arguments"] == {"name": {"required": True}}
    assert contract["resources"]["shop://opening-hours"]["mimeType"] == "text/plain"
    assert contract["resourceTemplates"]["shop://items/{item}"]["name"] == "item"
    assert json.loads(json.dumps(contract)) == contract


async def test_a_contract_can_be_read_by_a_client_or_in_another_revision() -> None:
    async with Client(shop()) as client:
        assert await contract_of(client) == await contract_of(shop())
    assert (await contract_of(shop(), revision="2025-06-18"))["revision"] == "2025-06-18"


async def test_a_file_is_written_once_and_then_compared(tmp_path: Path) -> None:
    path = tmp_path / "contracts" / "shop.json"
    await assert_contract(shop(), path)
    written = path.read_text(encoding="utf-8")
    assert json.loads(written) == await contract_of(shop())
    await assert_contract(shop(), path)
    with pytest.raises(ContractBroken) as caught:
        await assert_contract(shop(must_limit=True), path)
    assert str(caught.value).splitlines() == [
        f"the server breaks its contract, {path}:",
        "  who calls the tool `find`:",
        "    argument `limit` is required now",
        "If that is meant, run `pytest --mcp-update-contract`, or set WIGWAG_UPDATE_CONTRACT=1, "
        "and commit the file.",
    ]
    assert path.read_text(encoding="utf-8") == written


async def test_what_else_has_changed_is_shown_beside_what_breaks(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    await assert_contract(shop(has_limit=True), path)
    with pytest.raises(ContractBroken, match=r"(?s)`limit` is gone.*It has also changed:.*Seek"):
        await assert_contract(shop(says="Seek."), path)


async def test_what_breaks_nothing_is_a_warning_or_fails_if_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    await assert_contract(shop(), path)
    new = shop(has_limit=True)
    with pytest.warns(ContractChanged, match=r"(?s)is behind:.*properties\.limit is new"):
        await assert_contract(new, path)
    with pytest.raises(ContractBroken, match="is behind"):
        await assert_contract(new, path, strict=True)


async def test_the_file_is_written_anew_when_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.json"
    await assert_contract(shop(has_limit=True), path)
    monkeypatch.setenv("WIGWAG_UPDATE_CONTRACT", "1")
    await assert_contract(shop(), path)
    monkeypatch.setenv("WIGWAG_UPDATE_CONTRACT", "0")
    await assert_contract(shop(), path, strict=True)


async def test_a_contract_that_nobody_committed_fails_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    path = tmp_path / "shop.json"
    with pytest.raises(ContractBroken, match="there is no contract in"):
        await assert_contract(shop(), path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "is no contract"), ("[]", "is no contract"), ('{"format": 0}', "of format 0, not of 1")],
)
async def test_a_file_that_is_none_is_said_to_be_none(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "shop.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ContractBroken, match=reason):
        await assert_contract(shop(), path)
