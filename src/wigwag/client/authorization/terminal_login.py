"""Logs a user in whose browser is on another machine, with what they paste at the terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final, TextIO
from urllib.parse import parse_qs

from wigwag.client.authorization.browser_login import DEFAULT_TIMEOUT, no_answer, state_of
from wigwag.client.authorization.browsers import check_page
from wigwag.client.authorization.loopback_listener import LoopbackListener
from wigwag.client.terminal_lines import (
    BrokenOff,
    GivenUp,
    NoTerminal,
    TerminalLines,
    one_question,
)
from wigwag.errors import AuthorizationFailed, AuthorizationRefused
from wigwag.oauth.requests import told
from wigwag.oauth.steps import AskUser
from wigwag.oauth.urls import is_loopback, read_url, shown
from wigwag.stores.threads import start_in_thread

__all__ = ["TerminalLogin"]

_TURN_SECONDS: Final = 0.2


class TerminalLogin:
    """Shows the URL at the terminal, and takes the URL at which the browser ended.

    It listens as well, for a browser that is on this machine after all, or whose port is forwarded.
    Whichever comes first counts. It logs one user in once.

    Args:
        port: The port to listen at; 0 for the one that the client is registered with, or any that
            is free.
        timeout: How long the user may take, in seconds.
        input: The terminal that is read from; by default the standard input.
        output: Where the URL is shown; by default the standard error.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        input: TextIO | None = None,
        output: TextIO | None = None,
    ) -> None:
        self._listener = LoopbackListener(port=port)
        self._is_listening = False
        self._timeout = timeout
        self._input = input
        self._output = output

    async def listen(self, registered: tuple[str, ...]) -> str:
        """Return the redirect URI; what comes back need not come to this machine.

        Raises:
            AuthorizationFailed: There is no terminal, or no port to listen at.
        """
        try:
            self._lines().close()
        except NoTerminal:
            raise AuthorizationFailed(
                "there is no terminal to log in at", "", "run the program in one"
            ) from None
        if registered and not any(_is_here(uri) for uri in registered):
            return registered[0]
        self._is_listening = True
        return await self._listener.open(registered)

    async def ask(self, question: AskUser) -> str:
        """Show the URL, and wait for what is pasted, or for the browser.

        Raises:
            AuthorizationRefused: The user broke it off.
            AuthorizationFailed: Nothing came in time.
        """
        check_page(question.url)
        lines = self._lines()
        state = state_of(question)
        pasted = start_in_thread(lambda: _read(lines, question, state))
        waiting: set[asyncio.Future[str]] = {pasted}
        if self._is_listening:
            waiting.add(asyncio.create_task(self._listener.wait(state)))
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise no_answer(self._timeout, question, self._listener)
            return done.pop().result()
        except (BrokenOff, OSError):  # the terminal may have been closed
            raise AuthorizationRefused(
                "the log-in was broken off at the terminal", shown(question.issuer)
            ) from None
        finally:
            lines.give_up()
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)

    async def aclose(self) -> None:
        """Stop listening."""
        await self._listener.aclose()

    def _lines(self) -> TerminalLines:
        return TerminalLines(self._input or sys.stdin, self._output or sys.stderr)


def _is_here(uri: str) -> bool:
    url = read_url(uri)
    return url.scheme == "http" and is_loopback(url)


def _read(lines: TerminalLines, question: AskUser, state: str | None) -> str:
    """Ask at the terminal; in a thread, which nobody waits for."""
    try:
        while not one_question.acquire(timeout=_TURN_SECONDS):
            if lines.is_given_up:
                raise GivenUp
        try:
            lines.take_over()
            lines.write(
                f"\nTo give access to {told(question.resource)}, log in at "
                f"{told(question.issuer)}.\nOpen this URL in a browser:\n\n  {question.url}\n\n"
                "A browser on another machine ends at a page that it cannot show. Then copy the\n"
                "address of that page, and paste it here (Ctrl+C breaks off):\n"
            )
            return _redirect(lines.read_line, lines.write, state)
        finally:
            lines.restore()
            one_question.release()
    finally:
        lines.close()


def _redirect(read: Callable[[], str], write: Callable[[str], None], state: str | None) -> str:
    """Read lines until one is the answer to what was asked."""
    while True:
        line = read().strip().strip("'\"<>")
        fields = parse_qs(line.partition("?")[2] or line, keep_blank_values=True)
        if {"code", "error"} & fields.keys():
            if state is None or state in fields.get("state", ()):
                return line
            write("That is the address of another log-in. Paste the one of this one:\n")
        elif line:
            write("That is not it: the address has `code=` in it. Paste all of it:\n")
