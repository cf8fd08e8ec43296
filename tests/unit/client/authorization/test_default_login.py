"""Tests of choosing how a user logs in."""

import io
import os
import pty

import pytest

from wigwag.client.authorization.browser_login import BrowserLogin
from wigwag.client.authorization.default_login import DefaultLogin
from wigwag.client.authorization.terminal_login import TerminalLogin
from wigwag.errors import AuthorizationFailed

pytestmark = pytest.mark.anyio


async def chosen(login: DefaultLogin) -> type:
    try:
        assert (await login.listen(())).startswith("http://127.0.0.1:")
        return type(vars(login)["_login"])
    finally:
        await login.aclose()


async def test_it_is_the_browser_where_there_is_one() -> None:
    assert await chosen(DefaultLogin(has_browser=lambda: True)) is BrowserLogin


async def test_it_is_the_terminal_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        assert await chosen(DefaultLogin(has_browser=lambda: False)) is TerminalLogin
    os.close(ours)


@pytest.mark.parametrize("stdin", [None, io.StringIO("")])
async def test_where_there_is_neither_the_error_says_what_to_do(
    stdin: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(AuthorizationFailed, match=r"neither a browser nor a terminal; log in once"):
        await chosen(DefaultLogin(has_browser=lambda: False))
