"""Writes a great deal to standard error."""

import sys

from manners import serve

for number in range(10_000):
    print(f"DEBUG:zoo.keeper:counting animal {number} of 10000", file=sys.stderr)
serve()
