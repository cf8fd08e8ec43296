"""Stands between a client and a server on stdio, and writes down every line that crosses.

    python wiretap.py FOLDER -- COMMAND ...

Each run makes a file of its own in FOLDER, one JSON object a line: `{"sender": "client" |
"server", "line": ...}`, in an order that keeps causes before effects: a line is written down
before it is passed on. Standard library only, and nothing of Wigwag: it must not share a mistake
with what it watches.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

CHUNK_BYTES = 1 << 16


class Log:
    """The file, and the lock that orders the two directions."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{time.time_ns()}-{os.getpid()}.jsonl"
        self._file = path.open("a", encoding="utf-8", newline="\n")
        self._lock = threading.Lock()

    def write(self, sender: str, line: bytes) -> None:
        """Writes down one line, whole, at once."""
        record = {"sender": sender, "line": line.decode("utf-8", "backslashreplace")}
        with self._lock:
            self._file.write(json.dumps(record) + "\n")
            self._file.flush()


def pass_on(source: int, sink: IO[bytes], sender: str, log: Log) -> None:
    """Copies bytes until the source ends, then closes the sink."""
    partial = b""
    try:
        while chunk := os.read(source, CHUNK_BYTES):
            *lines, partial = (partial + chunk).split(b"\n")
            for line in lines:
                log.write(sender, line)
            sink.write(chunk)
            sink.flush()
    except OSError:
        pass  # the reader has gone; so does the other side in a moment
    if partial:
        log.write(sender, partial)
    with contextlib.suppress(OSError):
        sink.close()


def main() -> int:
    """Runs the server until it ends; its exit code is ours."""
    cut = sys.argv.index("--")
    log = Log(Path(sys.argv[cut - 1]))
    server = subprocess.Popen(sys.argv[cut + 1 :], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: server.send_signal(received))
    to_server = threading.Thread(target=pass_on, args=(0, server.stdin, "client", log), daemon=True)
    to_server.start()
    with os.fdopen(1, "wb", buffering=0, closefd=False) as stdout:
        pass_on(server.stdout.fileno(), stdout, "server", log)
    return server.wait()


if __name__ == "__main__":
    code = main()
    # A thread may still be reading a standard input that nobody closes.
    os._exit(code if code >= 0 else 128 - code)
