"""Asks for a password."""

import sys

print("Password: ", end="", file=sys.stderr, flush=True)
for _ in sys.stdin:
    pass
