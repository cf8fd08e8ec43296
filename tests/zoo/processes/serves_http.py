"""Serves over HTTP, where it should over stdio."""

import sys

print("INFO:     Uvicorn running on http://127.0.0.1:8000 (Press CTRL+C to quit)", file=sys.stderr)
for _ in sys.stdin:
    pass
