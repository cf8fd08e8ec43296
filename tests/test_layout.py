"""Holds `tests/unit` to the sources: each module that does something has its test beside it.

A unit test of `wigwag/a/b.py` is `tests/unit/a/test_b.py`; where that grew too long it is several,
`test_b_<aspect>.py`. The commands of `wigwag/cli` are tested as programs, in `tests/cli`.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "wigwag"
UNIT = ROOT / "tests" / "unit"

# Modules whose behaviour shows only together with others, and where it is tested.
ELSEWHERE = {
    "cli/__init__.py": "cli: every test of it",
    "client/authorization/flow_running.py": "authorization: clients that log in",
    "client/authorization/oauth_authorizer.py": "authorization: clients that log in",
    "client/asking.py": "interaction: a client and a server through the public API",
    "client/authorization/accounts.py": "authorization: test_accounts, with real servers",
    "client/authorization/terminal_login.py": "e2e: test_terminal_login, with a person",
    "client/client.py": "interaction: a client and a server through the public API",
    "client/following.py": "interaction: test_following",
    "client/group.py": "e2e: test_client_group, with real processes",
    "client/known_tools.py": "interaction: test_call_results and test_http_client_headers",
    "client/link.py": "interaction: test_connecting, and e2e, with processes that die",
    "client/listeners.py": "interaction: test_listening",
    "client/middleware.py": "interaction: test_client_middleware",
    "client/pages.py": "interaction: test_pagination",
    "client/sync.py": "interaction: test_sync_client, and e2e, with Ctrl+C",
    "client/terminal.py": "e2e: test_terminal, with a person at a pseudo terminal",
    "client/terminal_lines.py": "e2e: test_terminal, with a person at a pseudo terminal",
    "doctor/configuration_checks/entries.py": "doctor: test_configurations",
    "doctor/configuration_checks/files.py": "doctor: test_configurations",
    "doctor/configuration_checks/hosts.py": "doctor: test_configurations",
    "doctor/configurations.py": "doctor: test_configurations",
    "doctor/content_checks/asking.py": "doctor: test_contents, over a zoo of servers",
    "doctor/content_checks/capabilities.py": "doctor: test_contents, over a zoo of servers",
    "doctor/content_checks/listing.py": "doctor: test_contents, over a zoo of servers",
    "doctor/content_checks/prompts.py": "doctor: test_contents, over a zoo of servers",
    "doctor/content_checks/resources.py": "doctor: test_contents, over a zoo of servers",
    "doctor/content_checks/results.py": "doctor: test_contents, over a zoo of servers",
    "doctor/contents.py": "doctor: test_contents, over a zoo of servers",
    "doctor/diagnosing.py": "doctor: every test of it",
    "doctor/eras.py": "doctor: test_contents, over a zoo of servers",
    "doctor/interview.py": "doctor: test_contents, over a zoo of servers",
    "doctor/process_checks/conversation.py": "doctor: test_processes",
    "doctor/process_checks/departure.py": "doctor: test_processes",
    "doctor/process_checks/handshake.py": "doctor: test_processes",
    "doctor/process_checks/interpreters.py": "doctor: test_processes",
    "doctor/process_checks/output_faults.py": "doctor: test_processes",
    "doctor/process_checks/printing.py": "doctor: test_processes",
    "doctor/process_checks/process_table.py": "doctor: test_processes",
    "doctor/process_checks/silence.py": "doctor: test_processes",
    "doctor/process_checks/terminal_variables.py": "doctor: test_processes",
    "doctor/process_checks/watched_process.py": "doctor: test_processes",
    "doctor/processes.py": "doctor: test_processes, over a zoo of servers",
    "doctor/url_checks/answers.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/authorization.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/certificates.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/connections.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/documents.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/exchanges.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/first_bytes.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/hosts.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/http_sse.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/issuers.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/messages.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/pages.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/paths.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/redirects.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/refusals.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/sessions.py": "doctor: test_urls, over a zoo of servers",
    "doctor/url_checks/streams.py": "doctor: test_urls, over a zoo of servers",
    "doctor/urls.py": "doctor: test_urls, over a zoo of servers",
    "client/terminal_sampling.py": "e2e: test_terminal_sampling, with a person",
    "runtime/client_connection.py": "interaction: it is what a client waits on",
    "runtime/dispatch.py": "interaction: it is what runs the handlers",
    "runtime/permits.py": "authorization: test_server_scopes and test_server_sessions",
    "runtime/server_connection.py": "interaction: it is what runs the handlers",
    "schema/__init__.py": "e2e: test_footprint, and whatever uses a type",
    "server/access.py": "authorization: test_server_scopes",
    "server/asking/asking_directly.py": "interaction: test_asking_legacy",
    "server/context.py": "interaction: a client and a server through the public API",
    "server/http_process.py": "e2e: real processes and signals",
    "server/guard.py": "authorization: test_server_tokens and test_server_places",
    "server/protection.py": "authorization: test_server_tokens",
    "server/features.py": "unit: test_catalogue, test_tools, test_resources and test_prompts",
    "server/handlers.py": "interaction: it is what answers a client",
    "server/hearing.py": "interaction: test_custom_methods and test_middleware",
    "server/asking/inquiry.py": "interaction: a client and a server through the public API",
    "server/log_bridge.py": "interaction: what a client gets of what is logged",
    "server/methods.py": "interaction: test_custom_methods",
    "server/middleware.py": "interaction: test_middleware",
    "server/process.py": "e2e: real processes and signals",
    "tracing/performing.py": "unit: test_comparing, with servers",
    "tracing/player.py": "unit: test_replaying and test_replay_http",
    "transports/http_client_connection.py": "interaction: the tests of the two kinds of connection",
    "transports/http_client_httpx2.py": "interaction: test_http_client_requests, with each library",
    "transports/http_client_peer.py": "interaction: test_http_client_requests, with each library",
    "transports/http_client_sse.py": "interaction: test_http_client_sse",
    "transports/http_client_stream.py": "interaction: test_http_client_streams",
    "server/asking/replay.py": "interaction: the rounds of a call, as a client sees them",
    "server/running.py": "cli: test_run, with real processes",
    "server/session_names.py": "interaction: a client and a server through the public API",
    "server/worker_processes.py": "cli: test_run, with real processes",
    "server/workers.py": "cli: test_run, with real processes",
    "server/stdio_reloading.py": "cli: test_run, with real processes",
    "testing/blocking_client.py": "e2e: test_pytest_plugin, with pytest itself",
    "testing/connecting.py": "interaction: test_testing, over every transport",
    "testing/http_socket.py": "interaction: test_testing, over every transport",
    "testing/plugin.py": "e2e: test_pytest_plugin, with pytest itself",
    "testing/process.py": "interaction: test_testing, over every transport",
    "testing/scripted_client.py": "interaction: test_testing, over every transport",
    "tracing/http_relay_connection.py": "unit: test_http_relay, between sockets",
    "transports/memory.py": "contract: the kit that every transport passes",
    "transports/stream.py": "contract: the kit that every transport passes",
}

# Tests of several modules at once, and of which.
TOGETHER = {
    "protocol/test_eras.py": ("protocol/client.py", "protocol/server.py"),
    "schema/test_content.py": ("schema/content.py",),
    "schema/test_elicitation.py": ("schema/elicitation.py",),
}


def modules() -> list[str]:
    return [
        path.relative_to(SOURCES).as_posix()
        for path in sorted(SOURCES.rglob("*.py"))
        if path.parent != SOURCES
    ]


def has_logic(module: str) -> bool:
    """Tell whether a module has a function that does something."""
    tree = ast.parse((SOURCES / module).read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _does_something(node)
        for node in ast.walk(tree)
    )


def _does_something(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in function.body
    )


def unit_tests_of(module: str) -> list[Path]:
    source = SOURCES / module
    folder = UNIT / source.parent.relative_to(SOURCES)
    if module.startswith("cli/"):
        folder = ROOT / "tests" / source.parent.relative_to(SOURCES)
    return [*folder.glob(f"test_{source.stem}.py"), *folder.glob(f"test_{source.stem}_*.py")]


@pytest.mark.parametrize("module", [module for module in modules() if has_logic(module)])
def test_every_module_that_does_something_has_its_test(module: str) -> None:
    assert unit_tests_of(module) or module in ELSEWHERE, (
        f"write tests/unit/{module.replace('/', '/test_')}, or say in ELSEWHERE where it is tested"
    )


def test_every_unit_test_is_the_test_of_a_module() -> None:
    known = {path for module in modules() for path in unit_tests_of(module)}
    known |= {UNIT / "test_errors.py"}
    strays = [
        str(path.relative_to(UNIT))
        for path in sorted(UNIT.rglob("test_*.py"))
        if path not in known and str(path.relative_to(UNIT)) not in TOGETHER
    ]
    assert strays == []


def test_the_lists_of_exceptions_name_only_what_is_there() -> None:
    named = [*ELSEWHERE, *(module for sources in TOGETHER.values() for module in sources)]
    assert [module for module in named if not (SOURCES / module).is_file()] == []
    assert [module for module in ELSEWHERE if unit_tests_of(module)] == []
    assert [test for test in TOGETHER if not (UNIT / test).is_file()] == []
