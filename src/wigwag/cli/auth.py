"""`wigwag auth`, which logs a user in to servers and out of them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from wigwag.cli.exit_codes import ExitCode
from wigwag.cli.failures import run
from wigwag.cli.output import json_option, print_json
from wigwag.client.authorization.accounts import Account, authorization_status, log_in, log_out
from wigwag.client.authorization.client_document import (
    LOOPBACK,
    check_client_document,
    create_client_document,
)
from wigwag.client.authorization.oauth import OAuth
from wigwag.client.terminal_lines import visible

__all__ = ["auth_command"]

# A secret on a command line can be read by all users of the machine.
_SECRET: Final = "WIGWAG_CLIENT_SECRET"

_cafile = click.option("--cafile", type=click.Path(), help="Whose certificates to trust.")


@click.group("auth")
def auth_command() -> None:
    r"""Log in to servers, out of them, and see where you are logged in.

    What is kept is used by every program of yours that has Wigwag's client, this one included.

    \b
        wigwag auth login https://example.com/mcp
        wigwag list https://example.com/mcp --auth oauth
        wigwag auth status
    """


@auth_command.command("login")
@click.argument("url")
@click.option("--scope", "scopes", multiple=True, help="Ask for this besides.")
@click.option("--client-id", help=f"Of a registered client; its secret is read from {_SECRET}.")
@click.option("--issuer", metavar="URL", help="Where that client is registered.")
@click.option("--client-document", metavar="URL", help="The document that is the id of the client.")
@click.option("--port", type=click.IntRange(1, 65535), help="Where the browser comes back to.")
@click.option("--no-browser", is_flag=True, help="Show the address instead of opening a browser.")
@click.option("--dpop", is_flag=True, help="Have the tokens bound to a key.")
@click.option("--timeout", default=300.0, show_default=True, metavar="SECONDS", help="For you.")
@_cafile
@json_option
def login_command(
    *, url: str, cafile: str | None, as_json: bool, client_document: str | None, **options: Any
) -> None:
    """Log in to a server, in a browser, and keep the tokens.

    Where there is no browser, the address is shown, and the one at which the browser of another
    machine ends up is to be pasted.
    """
    if options.pop("no_browser"):
        from wigwag.client.authorization.terminal_login import TerminalLogin  # noqa: PLC0415

        port, timeout = options["port"] or 0, options["timeout"]
        options["login"] = lambda: TerminalLogin(port, timeout=timeout)
    secret = os.environ.get(_SECRET) if options["client_id"] else None

    async def work() -> Account:
        auth = OAuth(
            client_secret=secret,
            client_metadata_url=client_document,
            redirect_port=options.pop("port"),
            **options,
        )
        return await log_in(url, auth, ssl=cafile)

    account = run(work(), as_json=as_json)
    _show([account], as_json=as_json, alone=True)


@auth_command.command("logout")
@click.argument("url", required=False)
@click.option("--all", "is_all", is_flag=True, help="Log out of all servers.")
@click.option("--forget-client", is_flag=True, help="Forget how the client was registered, too.")
@_cafile
@json_option
def logout_command(
    *, url: str | None, is_all: bool, forget_client: bool, cafile: str | None, as_json: bool
) -> None:
    """Forget the tokens for a server, and tell its authorization server so."""
    if (url is None) != is_all:
        raise click.UsageError("give the URL of a server, or --all")

    async def work() -> dict[str, bool]:
        urls = [url] if url is not None else [one.server for one in await authorization_status()]
        return {each: await log_out(each, forget_client=forget_client, ssl=cafile) for each in urls}

    done = run(work(), as_json=as_json)
    if as_json:
        print_json([{"server": each, "was_logged_in": was} for each, was in done.items()])
        return
    for each, was in done.items():
        what = "logged out of" if was else "you were not logged in to"
        click.echo(f"{what} {visible(each)}")


@auth_command.command("status")
@click.argument("url", required=False)
@json_option
def status_command(*, url: str | None, as_json: bool) -> None:
    """Show where you are logged in; nobody is asked.

    With a URL the exit code is 6 if you would have to log in there.
    """
    accounts = run(authorization_status(url), as_json=as_json)
    _show(accounts, as_json=as_json)
    if not accounts and not as_json:
        click.echo("nothing is kept" if url is None else f"nothing is kept of {visible(url)}")
    if url is not None and (not accounts or accounts[0].needs_user(time.time())):
        sys.exit(ExitCode.UNAUTHORIZED)


@auth_command.command("document")
@click.argument("url")
@click.option("--name", required=True, help="What users are shown.")
@click.option("--page", metavar="URL", help="A page about the client.")
@click.option("--redirect-uri", "redirect_uris", multiple=True, metavar="URI", default=LOOPBACK)
@click.option("--jwks", metavar="URL", help="Where its public keys are, if it signs.")
def document_command(
    *, url: str, name: str, page: str | None, redirect_uris: tuple[str, ...], jwks: str | None
) -> None:
    """Write the metadata document of a client, to be hosted at URL, which is then its id."""
    try:
        text = create_client_document(
            url, client_name=name, client_uri=page, redirect_uris=redirect_uris, jwks_uri=jwks
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(text, nl=False)


@auth_command.command("check")
@click.argument("url")
@click.option(
    "--expect", type=click.Path(exists=True, dir_okay=False), help="What should be there."
)
@click.option("--allowed-host", "hosts", multiple=True, help="May be at a private address.")
@_cafile
@json_option
def check_command(
    *, url: str, expect: str | None, hosts: tuple[str, ...], cafile: str | None, as_json: bool
) -> None:
    """Fetch the metadata document of a client, and tell what is wrong with it."""

    def expected_text() -> str | None:
        return None if expect is None else Path(expect).read_text(encoding="utf-8")

    async def work() -> list[str]:
        expected = expected_text()
        return await check_client_document(url, expected, allowed_hosts=hosts, ssl=cafile)

    faults = run(work(), as_json=as_json)
    if as_json:
        print_json({"faults": faults})
    else:
        click.echo("\n".join(map(visible, faults)) or "the document is as it should be")
    if faults:
        sys.exit(ExitCode.FAILED)


def _show(accounts: Any, *, as_json: bool, alone: bool = False) -> None:
    now = time.time()
    if as_json:
        told = [
            {**msgspec.to_builtins(each), "needs_user": each.needs_user(now)} for each in accounts
        ]
        print_json(told[0] if alone else told)
        return
    for account in accounts:
        click.echo(visible(account.server))
        for line in _lines(account, now):
            click.echo(f"    {visible(line)}")


def _lines(account: Account, now: float) -> list[str]:
    """Say in words what is kept."""
    as_whom = f"as {account.client_id} at {account.issuer}"
    if not account.is_logged_in:
        return [f"not logged in; known {as_whom}"]
    lines = [f"logged in {as_whom}"]
    if account.scopes:
        lines.append(f"allowed: {' '.join(account.scopes)}")
    if account.token_type == "DPoP":
        lines.append("the token is bound to a key")
    renewal = "and is renewed by itself" if account.can_refresh else "and then you must log in"
    if account.expires_at is None:
        lines.append("when the token expires is not known")
    elif account.expires_at > now:
        lines.append(f"the token expires in {_duration(account.expires_at - now)}, {renewal}")
    elif account.can_refresh:
        lines.append("the token has expired, and is renewed when it is needed")
    else:
        lines.append("the token has expired: log in again")
    return lines


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"
