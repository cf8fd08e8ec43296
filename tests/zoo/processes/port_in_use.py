"""Wants a port that is taken."""

import socket

with socket.create_server(("127.0.0.1", 0)) as taken:
    socket.create_server(taken.getsockname())
