"""What `BROWSER` names where a test plays the user: hands the URL over to it.

python -I -S hand_over.py PORT URL
"""

import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as test:
    test.sendall(sys.argv[2].encode() + b"\n")
    test.recv(1)  # until it has been read
