"""Entries of the configurations of hosts as targets."""

import json
from pathlib import Path
from typing import Any

import pytest

from wigwag.client.client import Client
from wigwag.client.configuration import UrlServer, load_configuration
from wigwag.client.targets import is_for_url, opener_for, resolve_target
from wigwag.errors import ServerStartFailed
from wigwag.transports.stdio_client import StdioServerParameters

pytestmark = pytest.mark.anyio

CATS = {"command": "npx", "args": ["cats", "${TOKEN}"]}
URL = "https://example.com/mcp?key=1"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something in the environment."""
    monkeypatch.setenv("TOKEN", "s3cret")


def test_an_entry_with_a_command_is_a_process() -> None:
    opener = opener_for(CATS)
    assert opener.is_process
    assert opener.name == "the server `npx cats '${TOKEN}'`"


@pytest.mark.parametrize(("kind", "is_http_sse"), [("http", False), ("sse", True)])
def test_an_entry_with_a_url_is_a_server_there(kind: str, *, is_http_sse: bool) -> None:
    opener = opener_for({"type": kind, "url": URL}, headers={"A": "1"})
    assert opener.url == "https://example.com/mcp"
    assert opener.is_http_sse is is_http_sse


def test_a_file_or_what_was_loaded_of_it_is_the_one_server_in_it(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"cats": CATS}}), encoding="utf-8")
    loaded = load_configuration(file)
    for target in (file, str(file), loaded, loaded["cats"]):
        assert opener_for(target).name == "the server `npx cats '${TOKEN}'`"


async def test_environment_and_folder_of_the_caller_prevail(tmp_path: Path) -> None:
    entry = {"command": "cats", "env": {"PATH": "/theirs"}, "cwd": "/"}
    with pytest.raises(ServerStartFailed, match=r"no program 'cats' on PATH \(/theirs\)"):
        await opener_for(entry).open()
    with pytest.raises(ServerStartFailed, match=r"no program 'cats' on PATH \(/ours\)"):
        await opener_for(entry, env={"PATH": "/ours"}).open()
    with pytest.raises(ServerStartFailed, match="there is no folder"):
        await opener_for(entry, cwd=tmp_path / "gone").open()


async def test_what_was_filled_in_stands_in_no_error() -> None:
    with pytest.raises(ServerStartFailed) as caught:
        await opener_for({**CATS, "command": "no-such-program"}).open()
    assert "`no-such-program cats '${TOKEN}'`" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_what_is_for_urls_is_refused_for_a_process() -> None:
    with pytest.raises(ValueError, match="`headers` is for URLs"):
        opener_for(CATS, headers={"A": "1"})


def test_several_servers_are_told_to_go_to_a_group() -> None:
    with pytest.raises(ValueError, match=r"has 2 \('a', 'b'\): give it to ClientGroup"):
        Client({"mcpServers": {"a": CATS, "b": CATS}})


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        (URL, True),
        ({"url": URL}, True),
        (CATS, False),
        (["npx", "cats"], False),
        ("tcp://localhost:1", False),
        ("unix:/run/cats.json", False),
        (7, False),
    ],
)
def test_what_is_reached_by_http_is_known(target: Any, *, is_one: bool) -> None:
    assert is_for_url(target) is is_one


def test_a_target_is_resolved_to_a_process_or_a_url() -> None:
    url = resolve_target("https://example.com/mcp")
    assert isinstance(url, UrlServer)
    assert url.url == "https://example.com/mcp"
    entry = resolve_target({"command": "server", "args": ["-v"]})
    assert isinstance(entry, StdioServerParameters)
    assert list(entry.args) == ["-v"]
    assert resolve_target(["server", "-v"]) == StdioServerParameters("server", ["-v"])
    assert resolve_target("tcp://127.0.0.1:80") is None
