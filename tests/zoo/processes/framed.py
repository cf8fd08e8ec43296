"""Speaks as language servers do, with headers."""

import json
import sys

from manners import answer

while header := sys.stdin.buffer.readline():
    name, _, length = header.decode().partition(":")
    if name != "Content-Length":
        continue
    sys.stdin.buffer.readline()
    response = answer(json.loads(sys.stdin.buffer.read(int(length))))
    if response is not None:
        body = json.dumps(response)
        sys.stdout.write(f"Content-Length: {len(body)}\r\n\r\n{body}")
        sys.stdout.flush()
