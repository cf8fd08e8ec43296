"""The configurations of hosts, and the servers in them."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from wigwag.client.configuration import (
    ServerEntry,
    UrlServer,
    entry_of,
    is_configuration,
    load_configuration,
)
from wigwag.client.variables import Variables
from wigwag.transports.stdio_client import StdioServerParameters

URL = "https://example.com/mcp"


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have something in the environment."""
    monkeypatch.setenv("TOKEN", "s3cret")


def resolved(**fields: Any) -> StdioServerParameters | UrlServer:
    variables = Variables(workspace_folder=Path("/ws"))
    return ServerEntry("cats", fields, variables).resolve()


def command(**fields: Any) -> StdioServerParameters:
    found = resolved(**fields)
    assert isinstance(found, StdioServerParameters)
    return found


# --- entries


@pytest.mark.parametrize(
    ("fields", "args", "env"),
    [
        ({}, [], {}),
        ({"type": "stdio"}, [], {}),
        ({"transport": "stdio"}, [], {}),
        ({"args": ["-y", "cats"], "env": {"A": "1"}}, ["-y", "cats"], {"A": "1"}),
        ({"args": ["--port", 8080], "env": {"A": 1, "B": None}}, ["--port", "8080"], {"A": "1"}),
        ({"args": ["${TOKEN}"], "env": {"T": "${env:TOKEN}"}}, ["s3cret"], {"T": "s3cret"}),
        ({"args": ["${NONE:-x}", "${workspaceFolder}"], "env": None}, ["x", "/ws"], {}),
        ({"url": "ignored", "type": "stdio"}, [], {}),
    ],
)
def test_an_entry_with_a_command_is_a_process(
    fields: dict[str, Any], args: list[str], env: dict[str, str]
) -> None:
    found = command(command="npx", **fields)
    assert (found.command, found.args, found.env, found.cwd) == ("npx", args, env, None)


@pytest.mark.parametrize(
    ("fields", "headers", "is_http_sse"),
    [
        ({}, {}, False),
        ({"type": "http"}, {}, False),
        ({"type": "streamable-http"}, {}, False),
        ({"type": "streamableHttp"}, {}, False),
        ({"type": "sse"}, {}, True),
        ({"transport": "sse"}, {}, True),
        ({"headers": {"A": "Bearer ${TOKEN}"}}, {"A": "Bearer s3cret"}, False),
    ],
)
def test_an_entry_with_a_url_is_a_server_there(
    fields: dict[str, Any], headers: dict[str, str], *, is_http_sse: bool
) -> None:
    assert resolved(url=URL, **fields) == UrlServer(URL, headers, is_http_sse=is_http_sse)


def test_a_url_may_have_variables_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORIGIN", "http://localhost:1")
    assert resolved(url="${ORIGIN}/mcp") == UrlServer(
        "http://localhost:1/mcp", {}, is_http_sse=False
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, ": there is neither `command` nor `url`: which server is it?"),
        ({"command": "x", "url": URL}, ": there is both `command` and `url`: which server is it?"),
        ({"type": "stdio", "url": URL}, ", `type`: a server of type 'stdio' needs a `command`"),
        ({"type": "sse", "command": "x"}, ", `type`: a server of type 'sse' needs a `url`"),
        ({"type": "ws", "url": URL}, ", `type`: 'ws' is none of stdio, http, streamable-http, "
                                     "streamableHttp, sse"),
        ({"type": 3, "url": URL}, ", `type`: 3 is none of stdio, http, streamable-http, "
                                  "streamableHttp, sse"),
        ({"command": ["npx"]}, ", `command`: it is a string, not an array"),
        ({"command": ""}, ", `command`: it is empty"),
        ({"command": "x", "args": "-y"}, ", `args`: arguments are an array, not a string"),
        ({"command": "x", "args": ["-y", True]}, ", `args[1]`: it is a string, not a boolean"),
        ({"command": "x", "env": ["A=1"]}, ", `env`: it is an object, not an array"),
        ({"command": "x", "env": {"A": {}}}, ", `env.A`: it is a string, not an object"),
        ({"command": "x", "env": {"A": "${NONE}"}},
         ", `env.A`: there is no environment variable NONE: set it, or write ${NONE:-default}"),
        ({"command": "x", "args": ["${input:pin}"]},
         ", `args[0]`: ${input:pin} has no value: give load_configuration() `inputs={'pin': …}`"),
        ({"url": "example.com"}, ", `url`: a URL begins with http:// or https://"),
        ({"url": None}, ", `url`: it is a string, not null"),
        ({"url": URL, "headers": {"A": "${NONE}"}},
         ", `headers.A`: there is no environment variable NONE: set it, or write "
         "${NONE:-default}"),
    ],
)  # fmt: skip
def test_an_error_names_the_server_and_the_field(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match="server 'cats'") as caught:
        resolved(**fields)
    assert str(caught.value) == f"server 'cats'{problem}"


def test_an_entry_of_another_kind_is_told() -> None:
    with pytest.raises(ValueError, match=r"^server 'cats': an entry is an object, not a string$"):
        ServerEntry("cats", "npx cats").resolve()


def test_what_is_shown_of_an_entry_has_no_values_of_variables_in_it() -> None:
    entry = ServerEntry("cats", {"command": "npx", "args": ["--token=${TOKEN}"]})
    assert repr(entry) == "<ServerEntry 'cats'>"
    assert str(entry.resolve()) == "npx '--token=${TOKEN}'"


def test_a_field_that_is_not_known_is_told_to_those_who_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG, "wigwag.client"):
        command(command="npx", alwaysAllow=["feed"])
    (record,) = caplog.records
    assert record.levelno == logging.DEBUG
    assert record.getMessage() == "server 'cats': `alwaysAllow` is not known and has no effect"


def test_a_folder_begins_at_that_of_the_workspace() -> None:
    assert command(command="npx", cwd="cats").cwd == Path("/ws/cats")
    assert command(command="npx", cwd="/cats").cwd == Path("/cats")
    assert command(command="npx", cwd="~/cats").cwd == Path.home() / "cats"


def test_a_file_of_variables_is_read_and_those_in_the_entry_prevail(tmp_path: Path) -> None:
    lines = [
        "# my cats",
        "",
        "A=1",
        "export B = two words ",
        "C='#3' ",
        'D="4=4"',
        "E=5 # five",
        "F=",
        "nonsense",
        "G=${A}",
    ]
    (tmp_path / ".env").write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    variables = Variables(workspace_folder=tmp_path)
    entry = ServerEntry("cats", {"command": "x", "envFile": ".env", "env": {"A": "0"}}, variables)
    found = entry.resolve()
    assert isinstance(found, StdioServerParameters)
    assert found.env == {
        "A": "0", "B": "two words", "C": "#3", "D": "4=4", "E": "5", "F": "", "G": "${A}",
    }  # fmt: skip


def test_a_file_of_variables_that_is_not_there_is_told() -> None:
    with pytest.raises(ValueError, match=r"^server 'cats', `envFile`: cannot read /ws/none: "):
        resolved(command="x", envFile="${workspaceFolder}/none")


# --- whole configurations


CATS = {"command": "npx", "args": ["cats"]}


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ({"mcpServers": {"b": CATS, "a": {"url": URL}}}, ["b", "a"]),
        ({"servers": {"a": CATS}, "inputs": []}, ["a"]),
        ({"mcp": {"servers": {"a": CATS}}, "editor.fontSize": 12}, ["a"]),
        ({"mcpServers": {"a": CATS}, "servers": {"b": CATS}}, ["a", "b"]),
        ({"mcpServers": {}}, []),
        ({"mcpServers": {"a": {**CATS, "disabled": True}, "b": {**CATS, "disabled": False}}},
         ["b"]),
        ({"mcpServers": {"a": {}, "b": 7}}, ["a", "b"]),
    ],
)  # fmt: skip
def test_each_form_is_read_and_the_order_kept(content: dict[str, Any], names: list[str]) -> None:
    loaded = load_configuration(content)
    assert list(loaded) == names
    assert [entry.name for entry in loaded.values()] == names


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({}, "the configuration has neither `mcpServers` nor `servers`, but nothing"),
        ({"cats": CATS}, "the configuration has neither `mcpServers` nor `servers`, but 'cats'"),
        ({"mcpServers": [CATS]},
         "the configuration: the servers are an object, each under its name"),
    ],
)  # fmt: skip
def test_what_is_no_configuration_is_told(content: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match="the configuration") as caught:
        load_configuration(content)
    assert str(caught.value) == problem


def test_comments_and_trailing_commas_may_be_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    text = r"""{
      // the cats, "all" of them
      "mcpServers": {
        /* and
           more */
        "cats": {"command": "npx", "args": ["// no comment", "/* nor this */", ",]", "\"//",], },
      }, // the end,
    }"""
    file.write_text("\ufeff" + text, encoding="utf-8")
    found = load_configuration(file)["cats"].resolve()
    assert isinstance(found, StdioServerParameters)
    assert found.args == ["// no comment", "/* nor this */", ",]", '"//']


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  /* a */ "mcpServers": nonsense\n}',
         "is not JSON: Expecting value at line 2, column 25"),
        ("", "is not JSON: Expecting value at line 1, column 1"),
        ('{"a": "b', "is not JSON: Unterminated string starting at at line 1, column 7"),
        ("[1]", "holds an array, but a configuration is an object"),
        ("[" * 200_000, "is not JSON: "),
    ],
)  # fmt: skip
def test_a_file_that_is_no_json_is_told_with_the_place(
    text: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"JSON|object") as caught:
        load_configuration(file)
    assert str(caught.value).startswith(f"{file} {problem}")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(b'{"\xff')
    with pytest.raises(ValueError, match=r"mcp\.json is not JSON: 'utf-8' codec"):
        load_configuration(str(file))


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_configuration(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("place", "folder"),
    [(".vscode/mcp.json", "."), (".cursor/mcp.json", "."), (".mcp.json", "."), ("a/b.json", "a")],
)
def test_the_workspace_is_where_the_file_is(place: str, folder: str, tmp_path: Path) -> None:
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    content = {"servers": {"cats": {"command": "${workspaceFolder}/cats"}}}
    file.write_text(json.dumps(content), encoding="utf-8")
    found = load_configuration(file)["cats"].resolve()
    assert isinstance(found, StdioServerParameters)
    assert found.command == f"{tmp_path / folder}/cats"
    elsewhere = load_configuration(file, workspace_folder="/else")["cats"].resolve()
    assert isinstance(elsewhere, StdioServerParameters)
    assert elsewhere.command == "/else/cats"


def test_inputs_are_those_given_and_else_have_the_values_they_declare() -> None:
    content = {
        "inputs": [
            {"id": "key", "type": "promptString", "password": True},
            {"id": "mode", "type": "pickString", "options": ["a", "b"], "default": "b"},
            {"id": "size", "default": "small"},
            "nonsense",
        ],
        "servers": {
            "cats": {
                "type": "http",
                "url": URL,
                "headers": {"K": "${input:key}", "M": "${input:mode}", "S": "${input:size}"},
            }
        },
    }
    loaded = load_configuration(content, inputs={"key": "k", "size": "big"})
    assert loaded["cats"].resolve() == UrlServer(
        URL, {"K": "k", "M": "b", "S": "big"}, is_http_sse=False
    )


# --- the one server of a target


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (CATS, ""),
        ({"url": URL}, ""),
        ({"mcpServers": {"cats": CATS}}, "cats"),
        ({"servers": {"cats": CATS, "dogs": {**CATS, "disabled": True}}}, "cats"),
        (load_configuration({"mcpServers": {"cats": CATS}}), "cats"),
        (ServerEntry("cats", CATS), "cats"),
    ],
)
def test_a_target_of_one_server_is_that_server(target: Any, name: str) -> None:
    entry = entry_of(target)
    assert entry is not None
    assert entry.name == name


def test_the_path_of_a_file_is_the_one_server_in_it(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"cats": CATS}}), encoding="utf-8")
    for target in (file, str(file)):
        entry = entry_of(target)
        assert entry is not None
        assert entry.name == "cats"


@pytest.mark.parametrize(
    ("servers", "amount"), [({"a": CATS, "b": CATS}, r"2 \('a', 'b'\)"), ({}, r"0 \(none\)")]
)
def test_a_configuration_of_several_servers_is_for_a_group(
    servers: dict[str, Any], amount: str
) -> None:
    with pytest.raises(ValueError, match=f"has {amount}: give it to ClientGroup"):
        entry_of({"mcpServers": servers})


def test_an_entry_that_stands_alone_has_no_name_in_errors() -> None:
    entry = entry_of({"command": "x", "args": ["${NONE}"]})
    assert entry is not None
    with pytest.raises(ValueError, match=r"^the entry of a server, `args\[0\]`: there is no"):
        entry.resolve()


@pytest.mark.parametrize(
    ("target", "is_one"),
    [
        ({"mcpServers": {}}, True),
        ({"servers": {"a": CATS}}, True),
        ({"mcp": {"servers": {}}}, True),
        ({"servers": CATS}, False),
        ({"servers": ["npx", "cats"]}, False),
        ({"cats": CATS}, False),
        ({}, False),
    ],
)
def test_a_configuration_is_told_from_targets_by_name(
    target: dict[str, Any], *, is_one: bool
) -> None:
    assert is_configuration(target) is is_one
