"""Asks a person at the terminal what a server wants to know.

Spec: client/elicitation
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final, TextIO
from urllib.parse import urlsplit

from msgspec import UNSET

from wigwag.client.blocking_callbacks import in_thread
from wigwag.client.forms import FormField, fields_of
from wigwag.client.questions import who_asks
from wigwag.client.terminal_lines import (
    BrokenOff,
    GivenUp,
    NoTerminal,
    TerminalLines,
    one_question,
    visible,
)
from wigwag.errors import LocalProtocolError
from wigwag.schema import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from wigwag.schema.elicitation import ElicitValue

__all__ = ["NoTerminal", "TerminalElicitation", "terminal_elicitation"]

DECLINE: Final = "/decline"
CANCEL: Final = "/cancel"

_TURN_SECONDS: Final = 0.2


class _Declined(Exception):
    """The person does not want to answer."""


class TerminalElicitation:
    """Asks a person at the terminal; to be given to a client as `elicitation`.

    It goes through the fields of a form, explains what does not fit, and asks again; at the end the
    person sees all answers before they are sent. Enter takes what is filled in already, or leaves
    out what need not be filled in. `/decline` refuses to answer; `/cancel`, Ctrl+C and Ctrl+D break
    off. Of a page the whole address is shown; it is opened only if the person says so.

    One question is asked at a time. The event loop goes on meanwhile, and a question is taken back
    when its request is cancelled or times out.

    Args:
        input: The terminal that is read from; by default the standard input.
        output: Where the questions go; by default the standard error, so that the output of a
            program can be piped.
        open_page: Opens a page, and tells whether it could; by default `webbrowser.open`.
    """

    takes_pages: Final = True
    """It can be asked for pages, too, so that a client that has it declares both."""

    def __init__(
        self,
        *,
        input: TextIO | None = None,
        output: TextIO | None = None,
        open_page: Callable[[str], bool] | None = None,
    ) -> None:
        self._input = input
        self._output = output
        self._open_page = open_page

    async def __call__(
        self, params: ElicitRequestFormParams | ElicitRequestURLParams
    ) -> ElicitResult:
        """Ask, and return what the person did.

        Raises:
            NoTerminal: The input is no terminal, so there is nobody to ask.
            LocalProtocolError: The form has a field of a kind that the protocol does not have.
        """
        lines = TerminalLines(self._input or sys.stdin, self._output or sys.stderr)
        try:
            open_page = self._open_page or _open_in_browser
            result: ElicitResult = await _ask(lines, params, open_page)
            return result
        finally:
            lines.give_up()


async def terminal_elicitation(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
) -> ElicitResult:
    """Ask the person at the terminal of this process; to be given to a client as `elicitation`.

    `TerminalElicitation` says what the person sees, and takes other streams.

    Raises:
        NoTerminal: The standard input is no terminal, so there is nobody to ask.
        LocalProtocolError: The form has a field of a kind that the protocol does not have.
    """
    return await _of_this_process(params)


_of_this_process: Final = TerminalElicitation()
# So that a client declares pages as well as forms.
terminal_elicitation.takes_pages = True  # type: ignore[attr-defined]  # functions may have any


@in_thread
def _ask(
    lines: TerminalLines,
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    open_page: Callable[[str], bool],
) -> ElicitResult:
    try:
        while not one_question.acquire(timeout=_TURN_SECONDS):
            if lines.is_given_up:
                return ElicitResult(action="cancel")
        try:
            lines.take_over()
            if isinstance(params, ElicitRequestURLParams):
                return _page(lines, params, open_page)
            return _form(lines, params)
        finally:
            lines.restore()  # before the next one looks what the terminal is like
            one_question.release()
    except _Declined:
        return ElicitResult(action="decline")
    except (BrokenOff, GivenUp):
        return ElicitResult(action="cancel")
    finally:
        lines.close()


# --- forms


def _form(lines: TerminalLines, params: ElicitRequestFormParams) -> ElicitResult:
    try:
        fields = fields_of(params.requested_schema)
    except ValueError as error:
        raise LocalProtocolError(f"the server asks for what cannot be asked: {error}") from None
    lines.write(f"\n{visible(who_asks.get())} asks:\n{_indented(params.message)}\n")
    lines.write(f"({DECLINE} refuses to answer, {CANCEL} or Ctrl+C breaks off.)\n")
    answers: dict[str, ElicitValue] = {}
    while True:
        for field in fields:
            _fill_in(lines, field, answers)
        if fields:
            lines.write("\nYour answers:\n")
        for field in fields:
            if field.name in answers:
                shown = visible(field.show(answers[field.name]))
                lines.write(f"  {visible(field.title)}: {shown}\n")
        how = "yes, no, or edit" if fields else "yes or no"
        words = ("yes", "no", "edit") if fields else ("yes", "no")
        match _one_of(lines, f"Send? {how}: ", words):
            case "yes":
                return ElicitResult(action="accept", content=answers)
            case "no":
                raise _Declined


def _fill_in(lines: TerminalLines, field: FormField, answers: dict[str, ElicitValue]) -> None:
    """Ask for one field until what is typed fits."""
    needed = "" if field.is_required else " (may be left out)"
    lines.write(f"\n{visible(field.title)}{needed}\n")
    if field.description:
        lines.write(f"{_indented(field.description)}\n")
    for number, option in enumerate(field.options, 1):
        lines.write(f"  {number}) {visible(option.label)}\n")
    given = answers.get(field.name, field.default)
    shown = "" if given is UNSET else f" [{visible(field.show(given))}]"
    while True:
        text = _said(lines, f"{_HINTS[field.kind]}{shown}: ")
        if not text and given is not UNSET:
            answers[field.name] = given
            return
        if not text and not field.is_required:
            return
        try:
            if not text and field.kind == "text":
                raise ValueError("this must be filled in")
            answers[field.name] = field.read(text)
        except ValueError as error:
            lines.write(f"That does not fit: {error}.\n")
        else:
            return


_HINTS: Final = {
    "text": "Text",
    "number": "Number",
    "integer": "Whole number",
    "boolean": "yes or no",
    "one": "Number of your choice",
    "several": "Numbers of your choices, or none",
}


# --- pages


def _page(
    lines: TerminalLines, params: ElicitRequestURLParams, open_page: Callable[[str], bool]
) -> ElicitResult:
    lines.write(f"\n{visible(who_asks.get())} wants you to visit a page:\n")
    lines.write(f"{_indented(params.message)}\n\n  {visible(params.url)}\n\n")
    host = _host_of(params.url)
    if host is None:
        lines.write("This is no address of a web page, so it is not opened.\n")
        raise _Declined
    lines.write(f"It is a page of {host}. ({CANCEL} or Ctrl+C breaks off.)\n")
    if _one_of(lines, "Open it in the browser? yes or no: ") == "no":
        raise _Declined
    if not open_page(params.url):
        lines.write("There is no browser that could be opened: open the page yourself.\n")
    return ElicitResult(action="accept")


def _host_of(url: str) -> str | None:
    """Return the host of a web page as the network knows it, which a look-alike cannot hide."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return None
        return parts.hostname.encode("idna").decode("ascii")
    except ValueError:
        return None


def _open_in_browser(url: str) -> bool:
    import webbrowser  # noqa: PLC0415 - few pages are opened

    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False


# --- words


def _said(lines: TerminalLines, prompt: str) -> str:
    """Ask, and return what was said, unless it is one of the words that end it all."""
    lines.write(prompt)
    text = lines.read_line().strip()
    if text.lower() == DECLINE:
        raise _Declined
    if text.lower() == CANCEL:
        raise BrokenOff
    return text


def _one_of(lines: TerminalLines, prompt: str, words: Sequence[str] = ("yes", "no")) -> str:
    """Ask until the answer is one of these words, or its first letter."""
    while True:
        text = _said(lines, prompt).lower()
        for word in words:
            if text in (word, word[0]):
                return word


def _indented(text: str) -> str:
    """Return what a server says such that it cannot be taken for what this program says."""
    return "\n".join(f"  | {visible(line)}" for line in text.splitlines())
