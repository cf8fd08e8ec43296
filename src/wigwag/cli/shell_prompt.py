"""The line that is typed in the shell: keys, completion, and what was typed before."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.output import create_output

from wigwag.cli.offered import Offered
from wigwag.cli.shell_words import suggestions
from wigwag.client.terminal_lines import visible

__all__ = ["ShellPrompt", "history_file"]


class ShellPrompt:
    """Reads lines from a person.

    Args:
        name: What stands before the line.
        offered: What the server offers, to complete words with.
        has_history: Whether what was typed is kept in a file.
    """

    def __init__(self, name: str, offered: Offered, *, has_history: bool) -> None:
        self._session: PromptSession[str] = PromptSession(
            f"{name}> ",
            history=_kept() if has_history else InMemoryHistory(),
            completer=_Completer(offered),
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            output=create_output(stdout=sys.stderr),
        )

    async def read_line(self) -> str:
        """Wait for a line.

        Raises:
            KeyboardInterrupt: Ctrl+C was pressed.
            EOFError: Ctrl+D was pressed, or the terminal is gone.
        """
        return await self._session.prompt_async(handle_sigint=False)


class _Completer(Completer):
    def __init__(self, offered: Offered) -> None:
        self._offered = offered

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        return iter(())  # only the other one can ask the server

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Iterate over what the word before the cursor may become."""
        word, found = await suggestions(self._offered, document.text_before_cursor)
        for each in found:
            yield Completion(
                each.text,
                start_position=-len(word),
                display=visible(each.text),
                display_meta=visible(each.about),
            )


class _History(FileHistory):
    """Keeps lines in a file, but for those that begin with a space."""

    def store_string(self, string: str) -> None:
        if not string.startswith(" "):
            super().store_string(string)


def history_file() -> Path:
    """Return where the shell keeps what was typed."""
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        folder = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(folder).expanduser() / "wigwag" / "shell_history"


def _kept() -> History:
    """Return the history in the file, which nobody else may read: there may be secrets in it."""
    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:  # then it is kept as long as the shell lasts
        return InMemoryHistory()
    return _History(file)
