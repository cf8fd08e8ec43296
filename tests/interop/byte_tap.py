"""Stands between a client and a server on stdio, and keeps every byte that crosses.

    python byte_tap.py FOLDER -- COMMAND ...

The bytes of either side are in FOLDER, as `client` and `server`. Standard library only, and nothing
of Wigwag: it must not share a mistake with what it watches.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path


def pass_on(source: int, sink: int, copy: Path) -> None:
    """Copies bytes until the source ends, then closes the sink."""
    with copy.open("wb", buffering=0) as file:
        while chunk := os.read(source, 1 << 16):
            file.write(chunk)
            while chunk:
                chunk = chunk[os.write(sink, chunk) :]
    os.close(sink)


def main() -> int:
    """Runs the server until it ends; its exit code is ours."""
    cut = sys.argv.index("--")
    folder = Path(sys.argv[cut - 1])
    folder.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen(sys.argv[cut + 1 :], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    # The thread closes it, and is the only one that knows when.
    to_server = os.dup(server.stdin.fileno())
    server.stdin.close()
    threading.Thread(target=pass_on, args=(0, to_server, folder / "client"), daemon=True).start()
    pass_on(server.stdout.fileno(), 1, folder / "server")
    return server.wait()


if __name__ == "__main__":
    code = main()
    # A thread may still be reading a standard input that nobody closes.
    os._exit(code if code >= 0 else 128 - code)
