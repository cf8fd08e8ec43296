"""Settings of operating-system pipes."""

from __future__ import annotations

import contextlib
import sys

# Large messages pass in fewer turns; one mebibyte is what Linux allows without privileges.
PIPE_BYTES = 1024 * 1024


def widen(fd: int) -> None:
    """Let the pipe hold more, where the system can; on anything else this does nothing."""
    if sys.platform != "linux":
        return
    import fcntl  # noqa: PLC0415 - exists on Unix only

    with contextlib.suppress(OSError):  # a socket, or over the user's allowance
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
