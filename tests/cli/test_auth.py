"""`wigwag auth`."""

import asyncio
import json
import ssl
import sys
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.authorization.authorization_server import AuthorizationServer
from tests.authorization.guarded_url import GuardedUrl
from tests.cli.program import Ran, wigwag, wigwag_at_terminal
from tests.interaction.http_server import HttpRequest, HttpServer
from wigwag import Account, create_client_document
from wigwag.cli.auth import _duration, _lines, auth_command
from wigwag.cli.exit_codes import ExitCode

pytestmark = pytest.mark.anyio

# What a browser does, as far as log-ins go: it follows redirects.
FOLLOW = """
import sys, urllib.request as web
web.build_opener(web.ProxyHandler({})).open(sys.argv[1]).read()
"""


@pytest.fixture
async def guarded() -> AsyncIterator[GuardedUrl]:
    """An MCP server that wants tokens."""
    async with AuthorizationServer() as issuer, GuardedUrl(issuer) as server:
        yield server


@pytest.fixture(autouse=True)
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a browser that logs in at once, and a folder for credentials."""
    program = tmp_path / "browser.py"
    program.write_text(FOLLOW)
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BROWSER", f"{sys.executable} {program} %s &")
    monkeypatch.setenv("WIGWAG_CREDENTIALS", str(tmp_path / "credentials"))


async def auth(*arguments: str | Path) -> Ran:
    return await asyncio.to_thread(wigwag, "auth", *arguments)


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Return the exit code and the output of a command that is called here."""
    code = 0
    try:
        auth_command.main([*map(str, arguments)], standalone_mode=False)
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    return code, capsys.readouterr().out


async def test_who_logs_in_is_logged_in_until_the_log_out(
    guarded: GuardedUrl, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = await auth("login", guarded.url)
    assert ran.code == ExitCode.DONE, ran
    assert ran.out.startswith(f"{guarded.url}\n    logged in as client-1 at http://")
    assert "and is renewed by itself" in ran.out
    assert "If no browser comes up" in ran.err

    def at_home() -> None:
        code, out = called(capsys, "status", guarded.url, "--json")
        (account,) = json.loads(out)
        assert (code, account["server"], account["needs_user"]) == (0, guarded.url, False)
        assert "token" not in set(account) - {"token_type"}
        assert called(capsys, "status")[1].startswith(guarded.url)
        assert called(capsys, "logout", "--all")[1] == f"logged out of {guarded.url}\n"
        code, out = called(capsys, "status", guarded.url)
        assert code == ExitCode.UNAUTHORIZED
        assert "not logged in; known as client-1" in out
        assert called(capsys, "logout", guarded.url, "--forget-client", "--json")[1] == (
            json.dumps([{"server": guarded.url, "was_logged_in": False}]) + "\n"
        )
        assert called(capsys, "status") == (0, "nothing is kept\n")

    await asyncio.to_thread(at_home)


async def test_without_a_browser_the_address_is_shown_at_the_terminal(guarded: GuardedUrl) -> None:
    def at_terminal() -> None:
        with wigwag_at_terminal("auth", "login", guarded.url, "--no-browser", "--json") as person:
            person.see("paste it here (Ctrl+C breaks off):\n")
            (address,) = [line for line in person.seen.split() if "/authorize?" in line]
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address).read()
            person.see('"is_logged_in": true')
            assert person.exit_code() == ExitCode.DONE

    await asyncio.to_thread(at_terminal)


async def test_a_log_in_that_does_not_work_says_why() -> None:
    ran = await auth("login", "http://127.0.0.1:1/mcp")
    assert ran.code == ExitCode.UNAUTHORIZED
    assert "nobody listens at http://127.0.0.1:1/" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("login", "nonsense"), ExitCode.USAGE, "the URL of the server cannot be used"),
        (("logout",), ExitCode.USAGE, "give the URL of a server, or --all"),
        (("document", "http://a.example", "--name", "Mine"), ExitCode.USAGE, "https"),
        (("check", "http://a.example/x"), ExitCode.USAGE, "https"),
    ],
)
async def test_what_makes_no_sense_is_told(
    arguments: tuple[str, ...], code: ExitCode, what: str
) -> None:
    ran = await auth(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert what in ran.err


# --- what is said of an account


def account(**what: Any) -> Account:
    known = {"server": "https://mcp.example", "issuer": "https://as.example", "client_id": "me"}
    return Account(**(known | {"is_logged_in": True} | what))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({}, "when the token expires is not known"),
        ({"scopes": ("read", "write")}, "allowed: read write"),
        ({"token_type": "DPoP"}, "the token is bound to a key"),
        ({"expires_at": 4600.0}, "the token expires in 60 minutes, and then you must log in"),
        ({"expires_at": 999.0}, "the token has expired: log in again"),
        (
            {"expires_at": 999.0, "can_refresh": True},
            "the token has expired, and is renewed when it is needed",
        ),
    ],
)
def test_what_is_kept_is_said_in_words(what: dict[str, Any], said: str) -> None:
    assert said in _lines(account(**what), 1000.0)


def test_times_are_said_in_the_unit_that_suits_them() -> None:
    assert [_duration(each) for each in (5, 600, 7200, 864000)] == [
        "5 seconds", "10 minutes", "2 hours", "10 days",
    ]  # fmt: skip


# --- the document of a client


class Host(HttpServer):
    """Hosts one document."""

    body = b""

    async def handle(self, request: HttpRequest) -> None:
        await request.answer(200, self.body, kind="application/json")


async def test_a_document_is_written_and_checked_where_it_is_hosted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    cafile, expected = tmp_path / "ca.pem", tmp_path / "client.json"
    authority.cert_pem.write_to_path(cafile)
    async with Host(tls=tls) as host:
        url = f"https://localhost:{host.port}/client.json"
        _, document = called(capsys, "document", url, "--name", "Mine")
        assert document == create_client_document(url, client_name="Mine")
        expected.write_text(document)
        host.body = document.encode()
        check = ("check", url, "--allowed-host", "localhost", "--cafile", cafile)

        def checked(*more: str | Path) -> tuple[int, str]:
            return called(capsys, *check, *more)

        fine = await asyncio.to_thread(checked, "--expect", expected)
        assert fine == (0, "the document is as it should be\n")
        host.body = document.replace("Mine", "Other").encode()
        assert await asyncio.to_thread(checked, "--expect", expected, "--json") == (
            ExitCode.FAILED,
            '{"faults": ["client_name is not what it should be"]}\n',
        )
