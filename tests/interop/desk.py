"""A user at a desk: a machine that keeps credentials, and a browser that programs open pages in."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from tests.interop import catalogue
from tests.interop.chromium import User
from tests.interop.peers import wigwag_login_client
from wigwag import BrowserLogin, FileTokenStore, OAuth

CLIENT_SECONDS: Final = 90
# Where these are set nobody would see a browser.
AUTOMATION: Final = ("CI", "GITHUB_ACTIONS")


class Desk:
    """The desk.

    Attributes:
        user: Who sits there.
        visits: For each time that the browser was opened, what the pages said.
    """

    def __init__(self, user: User, credentials: Path) -> None:
        self.user = user
        self.visits: list[list[str]] = []
        self._credentials = credentials
        self._visiting: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._port = 0

    async def use(self, url: str, *words: str, **options: Any) -> dict[str, Any]:
        """Do what `peers/wigwag_login_client.py` does, with a new client; returns its report.

        It shares with others only what is kept in files.
        """
        async with asyncio.timeout(CLIENT_SECONDS):
            report = await wigwag_login_client.report_of(url, self.auth(**options), words)
        await asyncio.gather(*self._visiting)
        return report

    def auth(self, **options: Any) -> OAuth:
        """How a client in this process is authorized that runs here."""
        return OAuth(
            login=lambda: BrowserLogin(open_browser=self._open, on_url=lambda _: None),
            store=FileTokenStore(self._credentials),
            **options,
        )

    async def secrets(self) -> set[str]:
        """The tokens and secrets that are kept now."""
        store = FileTokenStore(self._credentials)
        kept = [json.loads(await store.load(key) or b"{}") for key in await store.keys()]
        names = ("access_token", "refresh_token", "client_secret")
        return {each[name] for each in kept for name in names if name in each}

    async def run(self, url: str, *words: str) -> dict[str, Any]:
        """Run that as a program, as the user would start it, with all the defaults."""
        program = str(catalogue.PEERS / "wigwag_login_client.py")
        browser = [sys.executable, "-I", "-S", str(catalogue.PEERS / "hand_over.py")]
        environ = {key: value for key, value in os.environ.items() if key not in AUTOMATION}
        client = await asyncio.create_subprocess_exec(
            *(sys.executable, program, url, *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={
                **environ,
                "BROWSER": " ".join([*browser, str(self._port), "%s"]),
                "WIGWAG_CREDENTIALS": str(self._credentials),
            },
        )
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                printed, errors = await client.communicate()
        finally:
            if client.returncode is None:
                client.kill()
                await client.wait()
        await asyncio.gather(*self._visiting)
        assert client.returncode == 0, (printed + errors).decode()
        report: dict[str, Any] = json.loads(printed)
        return report

    def _open(self, url: str) -> bool:
        """Open a page: what `webbrowser.open` does, in whatever thread."""
        self._loop.call_soon_threadsafe(self._visit, url)
        return True

    def _visit(self, url: str) -> None:
        self._visiting.add(asyncio.create_task(self._log_in(url)))

    async def _log_in(self, url: str) -> None:
        self.visits.append(await self.user.log_in(url))

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take what `peers/hand_over.py` hands over."""
        self._visit((await reader.readline()).decode().strip())
        writer.close()

    @asynccontextmanager
    async def occupied(self) -> AsyncIterator["Desk"]:
        """The user is there while the block runs."""
        async with await asyncio.start_server(self.take, "127.0.0.1", 0) as server:
            self._port = server.sockets[0].getsockname()[1]
            yield self
