"""What helps large messages through pipes."""

from __future__ import annotations

import contextlib
import sys

# Large messages pass in fewer turns; one mebibyte is what Linux allows without privileges.
PIPE_BYTES = 1024 * 1024

_KEPT_BYTES = 8 * 1024 * 1024


def widen(fd: int) -> None:
    """Let the pipe hold more, where the system can; on anything else this does nothing."""
    if sys.platform != "linux":
        return
    import fcntl  # noqa: PLC0415 - exists on Unix only

    with contextlib.suppress(OSError):  # a socket, or over the user's allowance
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def keep_large_buffers() -> None:
    """Let the C library keep the memory of large messages for the next ones.

    By default glibc returns a freed megabyte to the system and asks for it anew, and the page
    faults of that cost three times what reading and writing the message does. It raises its limits
    by itself when a larger block than ever is freed; this one is never touched.
    """
    bytes(_KEPT_BYTES)
