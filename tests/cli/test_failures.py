"""How commands tell what went wrong."""

import sys
from pathlib import Path

import pytest

from tests.cli.program import wigwag
from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import code_of
from wigwag.errors import (
    AuthorizationRefused,
    ConnectionRefused,
    HttpStatusError,
    InvalidResult,
    LocalProtocolError,
    RequestFailed,
    RequestTimedOut,
    ServerStartFailed,
    ToolFailed,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (AuthorizationRefused("no"), ExitCode.UNAUTHORIZED),
        (HttpStatusError("http://x", 401, "Unauthorized", "", {}), ExitCode.UNAUTHORIZED),
        (HttpStatusError("http://x", 502, "Bad Gateway", "", {}), ExitCode.NOT_CONNECTED),
        (ConnectionRefused("x"), ExitCode.NOT_CONNECTED),
        (ServerStartFailed("x"), ExitCode.NOT_CONNECTED),
        (RequestTimedOut("ping", 1, "x"), ExitCode.TIMED_OUT),
        (RequestFailed(-32602, "x"), ExitCode.REFUSED),
        (InvalidResult("x"), ExitCode.BROKEN),
        (LocalProtocolError("x"), ExitCode.USAGE),
        (ToolFailed("x"), ExitCode.FAILED),
        (FileNotFoundError("x"), ExitCode.USAGE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert code_of(error) == code


def test_a_server_that_cannot_start_is_told_without_a_traceback_of_ours(tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text("import sys; sys.exit('no token')")
    ran = wigwag("ping", "--", sys.executable, server)
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.out == ""
    assert "exited with code 1" in ran.err
    assert "Traceback" not in ran.err


def test_programs_get_the_failure_as_json() -> None:
    ran = wigwag("ping", "--json", "http://127.0.0.1:1/mcp")
    assert ran.code == ExitCode.NOT_CONNECTED
    assert ran.json["error"]["kind"] == "not_connected"
    assert "nobody listens there" in ran.json["error"]["message"]
