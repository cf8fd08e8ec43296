"""What the exit code of `wigwag` means; scripts may rely on it."""

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    """All is well."""

    FAILED = 1
    """It was done, and its outcome is bad: a tool failed, a server is ill, answers differ."""

    USAGE = 2
    """The command line makes no sense, or names what is not there; nothing was asked."""

    NOT_CONNECTED = 3
    """The server could not be started or reached, or went away."""

    TIMED_OUT = 4
    """The server did not answer in time."""

    REFUSED = 5
    """The server answered with an error."""

    UNAUTHORIZED = 6
    """The server wants a token, and none was obtained."""

    BROKEN = 7
    """What the server sent breaks the protocol."""

    INTERRUPTED = 130
    """Ctrl+C."""

    READER_GONE = 141
    """Whoever read the output has closed it, as `head` does."""
