"""Lets a person at the terminal answer in place of the model that a server wants to ask.

Spec: client/sampling
"""

from __future__ import annotations

import sys
from typing import Final, TextIO

from msgspec import UNSET

from wigwag.client.blocking_callbacks import in_thread
from wigwag.client.questions import who_asks
from wigwag.client.terminal_lines import (
    BrokenOff,
    GivenUp,
    TerminalLines,
    one_question,
    visible,
    visible_lines,
)
from wigwag.errors import RequestFailed
from wigwag.schema import (
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)

__all__ = ["TerminalSampling", "terminal_sampling"]

# What the specification has for a user who says no.
_REJECTED: Final = -1
_MODEL: Final = "a person at a terminal"
_TURN_SECONDS: Final = 0.2


class TerminalSampling:
    """Asks a person at the terminal for what a model would say; to be a client's `sampling`.

    It shows the conversation; what the person types, up to an empty line, is the answer. No answer,
    `/decline`, Ctrl+C or Ctrl+D refuse. One question is asked at a time.

    Args:
        input: The terminal that is read from; by default the standard input.
        output: Where the questions go; by default the standard error.
    """

    def __init__(self, *, input: TextIO | None = None, output: TextIO | None = None) -> None:
        self._input = input
        self._output = output

    async def __call__(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Ask, and return what the person has said.

        Raises:
            RequestFailed: The person refused.
            NoTerminal: The input is no terminal, so there is nobody to ask.
        """
        lines = TerminalLines(self._input or sys.stdin, self._output or sys.stderr)
        try:
            text: str = await _ask(lines, params)
        finally:
            lines.give_up()
        return CreateMessageResult(
            role="assistant", content=TextContent(text=text), model=_MODEL, stop_reason="endTurn"
        )


async def terminal_sampling(params: CreateMessageRequestParams) -> CreateMessageResult:
    """Ask the person at the terminal of this process what a model would say.

    To be given to a client as `sampling`. `TerminalSampling` says what the person sees, and takes
    other streams.

    Raises:
        RequestFailed: The person refused.
        NoTerminal: The standard input is no terminal, so there is nobody to ask.
    """
    return await _of_this_process(params)


_of_this_process: Final = TerminalSampling()


@in_thread
def _ask(lines: TerminalLines, params: CreateMessageRequestParams) -> str:
    try:
        while not one_question.acquire(timeout=_TURN_SECONDS):
            if lines.is_given_up:
                raise _refused()
        try:
            lines.take_over()
            lines.write(_conversation(params))
            return _answer(lines)
        finally:
            lines.restore()  # before the next one looks what the terminal is like
            one_question.release()
    except (BrokenOff, GivenUp):
        raise _refused() from None
    finally:
        lines.close()


def _refused() -> RequestFailed:
    return RequestFailed(_REJECTED, "User rejected sampling request")


def _conversation(params: CreateMessageRequestParams) -> str:
    """Return what a model would be given, for a person to read."""
    parts = [f"\n{visible(who_asks.get())} asks a model, which you can be:\n"]
    if params.system_prompt is not UNSET and params.system_prompt:
        parts.append(f"system:\n{_indented(params.system_prompt)}\n")
    parts += [f"{message.role}:\n{_indented(_words(message))}\n" for message in params.messages]
    parts.append(
        f"(Up to {params.max_tokens} tokens. An empty line ends your answer; "
        "/decline or Ctrl+C refuses.)\n"
    )
    return "".join(parts)


def _words(message: SamplingMessage) -> str:
    """Return a message as text, with what is no text named."""
    blocks = message.content if isinstance(message.content, list) else [message.content]
    return "\n".join(
        block.text if isinstance(block, TextContent) else f"[{_kind(block)}]" for block in blocks
    )


def _kind(block: object) -> str:
    mime_type = getattr(block, "mime_type", None)
    return mime_type if isinstance(mime_type, str) else str(getattr(block, "type", "something"))


def _answer(lines: TerminalLines) -> str:
    """Read lines until one is empty."""
    said: list[str] = []
    lines.write("Answer: ")
    while True:
        line = lines.read_line()
        if not said and line.strip().lower() in ("/decline", "/cancel", ""):
            raise _refused()
        if not line.strip():
            return "\n".join(said)
        said.append(line)
        lines.write("      | ")


def _indented(text: str) -> str:
    """Return what a server says such that it cannot be taken for what this program says."""
    return "\n".join(f"  | {line}" for line in visible_lines(text).split("\n"))
