"""Configurations of hosts: the file, its entries, and the servers in it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from wigwag.doctor.configuration_checks.hosts import host_of
from wigwag.doctor.configurations import diagnose_configuration
from wigwag.doctor.findings import Diagnosis
from wigwag.doctor.patience import Patience

pytestmark = pytest.mark.anyio

ZOO = Path(__file__).parents[1] / "zoo" / "processes"
PATIENT = Patience(quiet=0.05)
HEALTHY = {"command": sys.executable, "args": ["-S", str(ZOO / "healthy.py")]}


def write(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    file.write_text(text, encoding="utf-8")


async def diagnose(file: Path, content: Any, **options: Any) -> list[Diagnosis]:
    write(file, content)
    return await diagnose_configuration(file, patience=PATIENT, **options)


async def codes_of_entry(file: Path, entry: Any, section: str = "mcpServers") -> list[str]:
    of_file, of_server = await diagnose(file, {section: {"zoo": entry}})
    assert of_file.codes == []
    return of_server.codes


@pytest.mark.parametrize(
    ("file", "section"),
    [
        ("claude_desktop_config.json", "mcpServers"),
        (".vscode/mcp.json", "servers"),
        ("anything.json", "mcpServers"),
        ("anything.json", "servers"),
    ],
)
async def test_a_sound_file_with_a_healthy_server_has_no_findings(
    tmp_path: Path, file: str, section: str
) -> None:
    diagnoses = await diagnose(tmp_path / file, {section: {"zoo": HEALTHY}})
    assert [diagnosis.codes for diagnosis in diagnoses] == [[], []]
    assert diagnoses[0].target == str(tmp_path / file)
    assert diagnoses[1].target == f"zoo ({tmp_path / file})"


async def test_the_servers_in_the_settings_of_vs_code_are_found(tmp_path: Path) -> None:
    file = tmp_path / ".vscode" / "settings.json"
    diagnoses = await diagnose(file, {"mcp": {"servers": {"zoo": HEALTHY}}, "editor": {}})
    assert [diagnosis.codes for diagnosis in diagnoses] == [[], []]


async def test_the_faults_of_a_server_are_found(tmp_path: Path) -> None:
    crash = {"command": sys.executable, "args": ["-S", str(ZOO / "crash.py")]}
    content = {"mcpServers": {"zoo": HEALTHY, "cage": crash}}
    diagnoses = await diagnose(tmp_path / "mcp.json", content)
    assert [diagnosis.codes for diagnosis in diagnoses] == [[], [], ["crash-at-start"]]


async def test_one_server_can_be_named(tmp_path: Path) -> None:
    content = {"mcpServers": {"zoo": HEALTHY, "cage": {}}}
    steps: list[str] = []
    diagnoses = await diagnose(tmp_path / "mcp.json", content, server="zoo", on_step=steps.append)
    assert [diagnosis.codes for diagnosis in diagnoses] == [[], []]
    assert steps[0] == "zoo: starting the server as a host would"
    with pytest.raises(ValueError, match="has no server 'lion'; there are: zoo, cage"):
        await diagnose(tmp_path / "mcp.json", content, server="lion")


# --- the file


async def test_a_file_that_is_not_there_is_told_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").touch()
    with pytest.raises(FileNotFoundError, match=r"on this machine there are: \.mcp\.json"):
        await diagnose_configuration(tmp_path / "mcp.json")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ('{"mcpServers": {"zoo": {"command": "C:\\Users\\me"}}}', "each backslash twice"),
        ("{'mcpServers': {}}", "double quotation marks"),
        ("{\u201cmcpServers\u201d: {}}", "typographic"),
        ('{\n"mcpServers": {}\n"theme": "dark"}', "a comma or a bracket is missing"),
        ('{"mcpServers":', "an editor for JSON"),
    ],
)
async def test_what_is_not_json_is_told_with_its_place(
    tmp_path: Path, text: str, change: str
) -> None:
    (diagnosis,) = await diagnose(tmp_path / "mcp.json", text)
    (found,) = diagnosis.findings
    assert (found.code, found.severity) == ("configuration-not-json", "error")
    assert "line " in found.evidence
    assert change in found.change


async def test_a_line_that_is_shown_has_no_values(tmp_path: Path) -> None:
    text = '{"mcpServers": {"zoo": {"env": {"ZOO_TOKEN": "lion-king" "A": "b"}}}}'
    (diagnosis,) = await diagnose(tmp_path / "mcp.json", text)
    assert '"ZOO_TOKEN": "..."' in diagnosis.findings[0].evidence
    assert "lion-king" not in diagnosis.findings[0].evidence


@pytest.mark.parametrize(
    ("file", "codes"),
    [
        ("claude_desktop_config.json", ["configuration-comments"]),
        (".vscode/mcp.json", []),
        ("anything.json", []),
    ],
)
async def test_comments_are_a_fault_where_the_host_reads_none(
    tmp_path: Path, file: str, codes: list[str]
) -> None:
    section = json.dumps({"zoo": HEALTHY})
    name = "servers" if "vscode" in file else "mcpServers"
    of_file, of_server = await diagnose(
        tmp_path / file, f'{{\n  // the zoo\n  "{name}": {section},\n}}'
    )
    assert of_file.codes == codes
    assert of_server.codes == []


async def test_a_byte_order_mark_is_told(tmp_path: Path) -> None:
    diagnoses = await diagnose(tmp_path / "mcp.json", '\ufeff{"mcpServers": {"zoo": {"url": 1}}}')
    assert diagnoses[0].codes == ["configuration-bom"]


async def test_a_name_that_is_there_twice_is_told(tmp_path: Path) -> None:
    entry = json.dumps({"command": "zoo", "disabled": True})
    text = f'{{"mcpServers": {{"zoo": {entry}, "zoo": {entry}}}}}'
    of_file, _ = await diagnose(tmp_path / "mcp.json", text)
    assert of_file.codes == ["duplicate-key"]


@pytest.mark.parametrize(
    ("file", "content", "code", "change"),
    [
        (".vscode/mcp.json", {"mcpServers": {}}, "wrong-section", "rename `mcpServers` to"),
        (".cursor/mcp.json", {"servers": {}}, "wrong-section", "rename `servers` to `mcpServers`"),
        ("mcp.json", {"mcpservers": {}}, "wrong-section", "rename `mcpservers` to `mcpServers`"),
        ("mcp.json", {"zoo": {"command": "x"}}, "wrong-section", '{"mcpServers": {"name":'),
        ("mcp.json", {"command": "x"}, "wrong-section", '{"mcpServers": {"name":'),
        ("mcp.json", {"theme": "dark"}, "wrong-section", '{"mcpServers": {"name":'),
        ("mcp.json", {"mcpServers": []}, "wrong-section", '"mcpServers": {"name":'),
        ("mcp.json", {"mcpServers": {}}, "no-servers", "add one"),
    ],
)
async def test_servers_where_no_host_looks_for_them_are_told(
    tmp_path: Path, file: str, content: Any, code: str, change: str
) -> None:
    (diagnosis, *_) = await diagnose(tmp_path / file, content)
    (found,) = diagnosis.findings
    assert found.code == code
    assert change in found.change


# --- entries


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("python server.py", "invalid-entry"),
        ({}, "invalid-entry"),
        ({"command": "x", "url": "http://x"}, "invalid-entry"),
        ({"command": "x", "arg": ["y"]}, "unknown-key"),
        ({"command": "x", "environment": {}}, "unknown-key"),
        ({"command": "x", "args": "-y zoo"}, "args-not-a-list"),
        ({"command": "x", "args": {"a": "b"}}, "wrong-type"),
        ({"command": ["x", "y"]}, "wrong-type"),
        ({"command": "x", "env": ["A=1"]}, "wrong-type"),
        ({"command": "x", "env": {"PORT": 80}}, "not-a-string"),
        ({"command": "x", "args": [None]}, "not-a-string"),
        ({"command": "x", "type": "pigeon"}, "invalid-entry"),
        ({"command": "x", "env": {"A": "${NO_ZOO_HERE}"}}, "environment-variable-absent"),
        ({"command": "zoo that is not there"}, "arguments-in-command"),
    ],
)
async def test_an_entry_that_no_host_can_use_is_told(tmp_path: Path, entry: Any, code: str) -> None:
    assert await codes_of_entry(tmp_path / "mcp.json", entry) == [code]


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ({"env": {"ZOO_TOKEN": "YOUR_TOKEN_HERE"}}, "placeholder-value"),
        ({"env": {"ZOO_TOKEN": ""}}, "placeholder-value"),
        ({"args": [*HEALTHY["args"], "--api-key", "lion-king-12"]}, "secret-in-args"),
        ({"args": [*HEALTHY["args"], "--token=lion-king-12"]}, "secret-in-args"),
        ({"args": [*HEALTHY["args"], "ghp_" + "a" * 36]}, "secret-in-args"),
        ({"zebra": 1}, "unknown-key"),
    ],
)
async def test_what_is_wrong_with_an_entry_does_not_keep_its_server_from_being_examined(
    tmp_path: Path, extra: dict[str, Any], code: str
) -> None:
    _, diagnosis = await diagnose(tmp_path / "mcp.json", {"mcpServers": {"zoo": HEALTHY | extra}})
    assert diagnosis.codes == [code]
    assert "seconds_to_answer" in diagnosis.facts
    assert "lion-king" not in str(diagnosis)
    assert "a" * 20 not in str(diagnosis)


async def test_words_among_the_arguments_are_taken_for_what_they_are(tmp_path: Path) -> None:
    args = [
        *HEALTHY["args"],
        "todo",
        "add-notes",
        "--author",
        "Jane Austen",
        "--keywords=novels,zoo",
    ]
    assert await codes_of_entry(tmp_path / "mcp.json", {**HEALTHY, "args": args}) == []
    args = [*HEALTHY["args"], "your-folder", "<name>"]
    found = await codes_of_entry(tmp_path / "mcp.json", {**HEALTHY, "args": args})
    assert found == ["placeholder-value"] * 2


async def test_a_disabled_server_is_not_started(tmp_path: Path) -> None:
    entry = {"command": "lions", "disabled": True}
    assert await codes_of_entry(tmp_path / "mcp.json", entry) == ["server-disabled"]


async def test_a_value_that_the_host_asks_for_is_noted(tmp_path: Path) -> None:
    entry = {**HEALTHY, "env": {"ZOO_TOKEN": "${input:token}"}}
    file = tmp_path / ".vscode" / "mcp.json"
    assert await codes_of_entry(file, entry, "servers") == ["input-without-value"]


@pytest.mark.parametrize("file", ["claude_desktop_config.json", "mcp.json"])
async def test_a_variable_that_the_server_is_given_is_for_the_server_to_fill_in(
    tmp_path: Path, file: str
) -> None:
    args = [*HEALTHY["args"], "--header", "Authorization:${ZOO_HEADER}"]
    entry = {**HEALTHY, "args": args, "env": {"ZOO_HEADER": "Bearer lion-king-12"}}
    assert await codes_of_entry(tmp_path / file, entry) == []


async def test_a_variable_that_is_passed_on_and_not_there_is_told(tmp_path: Path) -> None:
    entry = {**HEALTHY, "env": {"NO_ZOO_HERE": "${NO_ZOO_HERE}"}}
    assert await codes_of_entry(tmp_path / "mcp.json", entry) == ["environment-variable-absent"]


async def test_hosts_differ_in_what_they_take(tmp_path: Path) -> None:
    url = {"url": "http://127.0.0.1:1/mcp"}
    desktop = tmp_path / "claude_desktop_config.json"
    assert await codes_of_entry(desktop, url) == ["url-not-supported"]
    assert await codes_of_entry(tmp_path / ".mcp.json", url) == ["type-missing"]
    entry = {**HEALTHY, "env": {"ZOO": "${PATH}"}}
    assert await codes_of_entry(desktop, entry) == ["variable-not-filled-in"]
    assert await codes_of_entry(tmp_path / ".mcp.json", entry) == []


async def test_servers_start_in_the_folder_in_which_their_host_starts_them(tmp_path: Path) -> None:
    (tmp_path / "healthy.py").write_text((ZOO / "healthy.py").read_text())
    (tmp_path / "manners.py").write_text((ZOO / "manners.py").read_text())
    entry = {"command": sys.executable, "args": ["-S", "healthy.py"]}
    assert await codes_of_entry(tmp_path / ".vscode" / "mcp.json", entry, "servers") == []
    desktop = tmp_path / "claude_desktop_config.json"
    assert await codes_of_entry(desktop, entry) == ["script-not-found"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("~/Library/Application Support/Claude/claude_desktop_config.json", "Claude Desktop"),
        (".mcp.json", "Claude Code"),
        ("~/.claude.json", "Claude Code"),
        ("~/.cursor/mcp.json", "Cursor"),
        (".vscode/mcp.json", "VS Code"),
        ("~/.config/Code/User/mcp.json", "VS Code"),
        ("~/.codeium/windsurf/mcp_config.json", "Windsurf"),
        ("cline_mcp_settings.json", "Cline"),
        (".gemini/settings.json", "Gemini CLI"),
        ("zoo.json", "the host"),
    ],
)
def test_the_host_of_a_file_is_told_by_its_name(file: str, name: str) -> None:
    assert host_of(Path(file).expanduser()).name == name
