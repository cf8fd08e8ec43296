"""The pytest plugin, in projects of others: each test writes one, and runs pytest in it."""

import json

import pytest

pytest_plugins = ["pytester"]

# Also of pytest-asyncio and anyio, each where a project uses it.
WITHOUT = ("-p", "no:asyncio", "-p", "no:anyio")
PATIENCE = 120.0

SERVER = """
from wigwag import Context, Server

server = Server("cafe", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool
async def greet(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", {"name": str})
    return f"Hello {answer.content['name']}" if answer.action == "accept" else answer.action
"""

CONFTEST = """
import pytest
from cafe import server


@pytest.fixture
def mcp_server():
    return server
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a server, in which warnings are errors."""
    for variable in ("CI", "WIGWAG_UPDATE_CONTRACT", "WIGWAG_WIRE", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(variable, raising=False)
    pytester.makepyfile(cafe=SERVER)
    pytester.makeconftest(CONFTEST)
    pytester.makeini(
        "[pytest]\n"
        "addopts = --strict-markers --strict-config\n"
        "filterwarnings = error\n"
        "pythonpath = .\n"
    )
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*arguments, timeout=PATIENCE)


def shown(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


SYNC = """
def test_adding(mcp_client):
    assert mcp_client.call_tool("add", {"a": 1, "b": 2}).text == "3"
    assert mcp_client.protocol_version == "2026-07-28"
"""
ASYNC = """
import asyncio
import pytest

{mark}
async def test_adding(mcp_client):
    async with asyncio.timeout(60):
        assert (await mcp_client.call_tool("add", {{"a": 1, "b": 2}})).text == "3"


class TestCafe:
    {mark}
    async def test_adding(self, mcp_client):
        async with mcp_client.listen(tools=True) as changes:
            assert changes.honored.tools_list_changed
"""


def test_a_test_that_is_not_async_has_a_client_that_waits(project: pytest.Pytester) -> None:
    project.makepyfile(SYNC)
    run(project, *WITHOUT).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "arguments"),
    [
        ("", WITHOUT),
        ("", ()),
        ("@pytest.mark.asyncio", ("-p", "no:anyio", "-o", "asyncio_mode=strict")),
        ("", ("-p", "no:anyio", "-o", "asyncio_mode=auto")),
        ("@pytest.mark.anyio", ("-p", "no:asyncio")),
    ],
    ids=["no plugin", "plugins that are not asked", "asyncio", "asyncio, auto", "anyio"],
)
def test_an_async_test_has_its_client_whoever_runs_it(
    project: pytest.Pytester, mark: str, arguments: tuple[str, ...]
) -> None:
    backend = "\n\n@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    project.makepyfile(ASYNC.format(mark=mark) + backend)
    if "no:asyncio" not in arguments:
        arguments = (*arguments, "-o", "asyncio_default_fixture_loop_scope=function")
    run(project, *arguments).assert_outcomes(passed=2)


def test_the_client_is_connected_as_marks_and_parameters_say(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.mcp(revision="2025-06-18", elicit={"name": "Ann"})


        async def test_module(mcp_client):
            assert mcp_client.protocol_version == "2025-06-18"
            assert (await mcp_client.call_tool("greet")).text == "Hello Ann"
            assert [asked.message for asked in mcp_client.asked] == ["Who are you?"]


        @pytest.mark.mcp(revision="2025-11-25", elicit=["decline"])
        def test_function(mcp_client):
            assert mcp_client.protocol_version == "2025-11-25"
            assert mcp_client.call_tool("greet").text == "decline"


        @pytest.mark.parametrize("mcp_transport", ["memory", "stdio", "http"])
        @pytest.mark.parametrize("mcp_revision", ["2025-03-26", "2026-07-28"])
        def test_parameters(mcp_client, mcp_revision):
            assert mcp_client.protocol_version == mcp_revision
            assert mcp_client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        """
    )
    run(project, *WITHOUT).assert_outcomes(passed=8)


def test_fixtures_may_use_a_client_that_waits_and_async_ones_are_told(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest


        @pytest.fixture
        def three(mcp_client):
            yield mcp_client.call_tool("add", {"a": 1, "b": 2}).text
            assert mcp_client.call_tool("add", {"a": 2, "b": 2}).text == "4"


        @pytest.fixture
        def too_early(mcp_client):
            return mcp_client.call_tool


        def test_waiting(three):
            assert three == "3"


        async def test_early(too_early):
            pass
        """
    )
    result = run(project, *WITHOUT)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines("*it is connected when the test function begins*")


def test_what_client_and_server_said_is_shown_when_a_test_fails(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from cafe import server
        from wigwag.testing import connect


        def test_good(mcp_client):
            mcp_client.call_tool("add", {"a": 7, "b": 7})


        def test_bad(mcp_client):
            assert mcp_client.call_tool("add", {"a": 1, "b": 2}).text == "4"


        async def test_bad_too(mcp_client):
            async with connect(server) as client:
                assert (await client.call_tool("add", {"a": 5, "b": 5})).text == "11"


        def test_bad_without():
            assert False
        """
    )
    result = run(project, *WITHOUT)
    result.assert_outcomes(passed=1, failed=3)
    out = shown(result)
    assert out.count("MCP messages until the end of call") == 2
    assert out.count('"arguments":{"a":1,"b":2}') == 1  # once, though the server hears it as well
    assert out.count('"arguments":{"a":5,"b":5}') == 1
    assert '"a":7' not in out
    assert "Captured log" not in out


def test_a_script_that_does_not_fit_fails_the_test(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest


        @pytest.mark.mcp(elicit=["decline", "cancel"])
        def test_few(mcp_client):
            mcp_client.call_tool("greet")


        @pytest.mark.mcp(elicit=[], revision="2025-06-18")
        def test_many(mcp_client):
            assert mcp_client.call_tool("greet").text == "Hello Ann"


        @pytest.mark.mcp(elicit=["decline", "cancel"])
        async def test_few_async(mcp_client):
            await mcp_client.call_tool("greet")
        """
    )
    result = run(project, *WITHOUT)
    result.assert_outcomes(failed=3)
    assert shown(result).count("ScriptError: the server did not ask for all answers of") >= 2
    result.stdout.fnmatch_lines("*ScriptError: the server asked 'Who are you?' (a form with*")


def test_a_server_that_hangs_fails_its_test_and_the_run_goes_on(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import asyncio
        import time
        import pytest
        from cafe import server


        @server.tool
        async def block():
            time.sleep(3600)


        @server.tool
        async def wait():
            await asyncio.sleep(3600)


        @server.tool
        def sleep_in_a_thread():
            time.sleep(3600)


        pytestmark = pytest.mark.mcp(timeout=1)


        @pytest.mark.parametrize("tool", ["block", "wait", "sleep_in_a_thread"])
        def test_hanging(mcp_client, tool):
            mcp_client.call_tool(tool)


        @pytest.mark.parametrize("tool", ["block", "wait", "sleep_in_a_thread"])
        async def test_hanging_async(mcp_client, tool):
            await mcp_client.call_tool(tool)


        @pytest.mark.mcp(timeout=60)
        def test_after(mcp_client):
            assert mcp_client.call_tool("add", {"a": 1, "b": 2}).text == "3"
        """
    )
    result = run(project, *WITHOUT)
    result.assert_outcomes(passed=1, failed=6)
    out = shown(result)
    assert out.count("ServerHangs: the event loop was blocked for 1 s") >= 2
    assert out.count("RequestTimedOut: no answer to tools/call") >= 4
    assert "in block" in out


CONTRACT = """
def test_contract(mcp_contract):
    mcp_contract.check()


async def test_contract_async(mcp_contract):
    mcp_contract.check()
"""


def test_a_contract_is_written_kept_and_written_anew(project: pytest.Pytester) -> None:
    project.makepyfile(CONTRACT)
    run(project, *WITHOUT).assert_outcomes(passed=2)
    path = project.path / "mcp_contract.json"
    assert list(json.loads(path.read_text(encoding="utf-8"))["tools"]) == ["add", "greet"]

    changed = SERVER.replace("a: int, b: int", "a: int, b: int, c: int")
    project.makepyfile(cafe=changed)
    result = run(project, *WITHOUT)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*the server breaks its contract*", "*who calls the tool `add`:", "*`c` is required now"]
    )
    run(project, *WITHOUT, "--mcp-update-contract").assert_outcomes(passed=2)
    run(project, *WITHOUT).assert_outcomes(passed=2)

    project.makepyfile(cafe=changed.replace("c: int", "c: int, d: int = 0"))
    result = run(project, *WITHOUT, "-W", "default")
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines("*inputSchema.properties.d is new*")


def test_without_a_server_it_is_told_how_to_name_one(project: pytest.Pytester) -> None:
    project.makeconftest("")
    project.makepyfile(SYNC)
    result = run(project, *WITHOUT)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines("which server? Write a fixture `mcp_server`*")


def test_a_project_without_servers_pays_nothing(project: pytest.Pytester) -> None:
    project.makeconftest("")
    project.makepyfile(
        """
        import sys


        def test_modules():
            assert sorted(name for name in sys.modules if name.startswith("wigwag")) == [
                "wigwag", "wigwag._version", "wigwag.testing", "wigwag.testing.plugin",
            ]
            assert not {"asyncio", "msgspec"} & set(sys.modules)


        def test_own_fixture(mcp_client):
            assert mcp_client == "mine"
        """
    )
    project.makeconftest("import pytest\n\n@pytest.fixture\ndef mcp_client():\n    return 'mine'\n")
    run(project, *WITHOUT, "-p", "no:hypothesispytest").assert_outcomes(passed=2)


def test_the_option_and_the_mark_are_described(project: pytest.Pytester) -> None:
    result = run(project, *WITHOUT, "--help")
    result.stdout.fnmatch_lines("*--mcp-update-contract*")
    result = run(project, *WITHOUT, "--markers")
    result.stdout.fnmatch_lines("@pytest.mark.mcp(*")
    result = run(project, *WITHOUT, "--fixtures")
    result.stdout.fnmatch_lines_random(["mcp_client*", "mcp_server*", "mcp_contract*"])
