"""A process that stands between its standard streams and a unix socket, and adds nothing.

It leaves, like any server, when its input ends; and when the socket does.
"""

import os
import socket
import sys
import threading

CHUNK_BYTES = 64 * 1024

with socket.socket(socket.AF_UNIX) as wire:
    wire.connect(sys.argv[1])

    def from_socket() -> None:
        while data := wire.recv(CHUNK_BYTES):
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]
        os._exit(0)

    threading.Thread(target=from_socket, daemon=True).start()
    while data := os.read(0, CHUNK_BYTES):
        wire.sendall(data)
    wire.shutdown(socket.SHUT_WR)
    os._exit(0)
