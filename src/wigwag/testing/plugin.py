"""The pytest plugin: fixtures for a server and its client, its contract, and its messages.

pytest loads it in every project of an environment that has Wigwag; so whatever is not needed
before a test uses it is imported there.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from wigwag.testing.contract_file import ContractFile

_UPDATE: Final = "WIGWAG_UPDATE_CONTRACT"
_RECORD: Final = "wigwag.testing.wire_record"
_was_set = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that has contracts written anew."""
    group = parser.getgroup("mcp", "MCP servers (wigwag)")
    group.addoption(
        "--mcp-update-contract",
        action="store_true",
        help="write the contracts of MCP servers anew, as the servers are now",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Describe the mark, and hand the option on."""
    config.addinivalue_line(
        "markers",
        "mcp(**options): how `mcp_client` is connected and answers in this test: revision, "
        "transport, elicit, sample, roots, timeout, and what else `wigwag.testing.connect` takes",
    )
    if config.getoption("mcp_update_contract"):
        config.stash[_was_set] = os.environ.get(_UPDATE)
        os.environ[_UPDATE] = "1"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave the environment as it was."""
    if _was_set in config.stash:
        before = config.stash[_was_set]
        if before is None:
            os.environ.pop(_UPDATE, None)
        else:
            os.environ[_UPDATE] = before


# --- fixtures


@pytest.fixture
def mcp_server() -> Any:
    """The server to test: override it with a fixture that returns your `Server`, or a command."""
    pytest.fail(
        "which server? Write a fixture `mcp_server` in the test's module or in conftest.py that "
        "returns your `Server`, or a command such as ['python', 'server.py']",
        pytrace=False,
    )


@pytest.fixture
def mcp_revision() -> str | None:
    """The revision that `mcp_client` speaks: parametrize or override it; by default the newest."""
    return None


@pytest.fixture
def mcp_transport() -> str | None:
    """What carries the messages of `mcp_client`: `memory`, `stdio` or `http`; parametrize it."""
    return None


@pytest.fixture
def mcp_client(
    request: pytest.FixtureRequest,
    mcp_server: Any,
    mcp_revision: str | None,
    mcp_transport: str | None,
) -> Iterator[Any]:
    """A client that is connected to `mcp_server`; the mark `mcp` says how.

    In an `async def` test it is a `ScriptedClient`, connected in the very task of the test; in any
    other a `BlockingClient`.
    """
    from wigwag.testing.blocking_client import blocking  # noqa: PLC0415 - as the module says
    from wigwag.testing.connecting import connect  # noqa: PLC0415

    options: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("mcp"))):  # the nearest last
        options.update(mark.kwargs)
    if mcp_revision is not None:
        options["revision"] = mcp_revision
    if mcp_transport is not None:
        options["transport"] = mcp_transport
    connecting = connect(mcp_server, **options)
    if inspect.iscoroutinefunction(request.function):
        yield _Unconnected(connecting)
    else:
        with blocking(connecting) as client:
            yield client


@pytest.fixture
def mcp_contract(request: pytest.FixtureRequest, mcp_server: Any) -> ContractFile:
    """What `mcp_server` offers, to be held to a file: `mcp_contract.check()`."""
    from wigwag.testing.contract_file import ContractFile  # noqa: PLC0415 - as the module says

    return ContractFile.read(mcp_server, request.path.parent)


class _Unconnected:
    """Stands for the client of an `async def` test until the test begins."""

    def __init__(self, connecting: Any) -> None:
        self._connecting = connecting

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"`mcp_client` has no `{name}` yet: it is connected when the test function begins. In "
            "an `async def` fixture use `async with connect(mcp_server) as client`, from "
            "wigwag.testing"
        )


# --- running tests


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Connect the client of an `async def` test around it; look after that of any other."""
    client: Any = getattr(item, "funcargs", {}).get("mcp_client")
    if isinstance(client, _Unconnected) and isinstance(item, pytest.Function):
        test = item.obj
        item.obj = _connected(test, client._connecting)
        try:
            return (yield)
        finally:
            item.obj = test
    if not hasattr(client, "reason"):  # there is none, or the project has a fixture of its own
        return (yield)
    try:
        outcome = yield
    except BaseException as error:
        reason = client.reason()
        if reason not in (None, error):
            raise reason from error
        raise
    client.check()
    return outcome


def _connected(test: Any, connecting: Any) -> Any:
    """Return a test that connects its client first; in its own task, whichever plugin runs it."""

    @functools.wraps(test)
    async def connected(**arguments: Any) -> Any:
        async with connecting as client:
            return await test(**{**arguments, "mcp_client": client})

    return connected


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """Run an `async def` test of a server that no other plugin takes care of."""
    is_ours = "mcp_server" in pyfuncitem.fixturenames
    if not is_ours or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    import asyncio  # noqa: PLC0415 - as the module says

    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    with asyncio.Runner() as runner:
        runner.run(pyfuncitem.obj(**arguments))
    return True


# --- the messages of a test that failed


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Forget the messages of the test before."""
    if _RECORD in sys.modules:
        sys.modules[_RECORD].RECORD.forget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what client and server said to each other in a test that failed."""
    report = yield
    if report.failed and _RECORD in sys.modules:
        messages = str(sys.modules[_RECORD].RECORD)
        if messages:
            report.sections.append((f"MCP messages until the end of {call.when}", messages))
    return report
