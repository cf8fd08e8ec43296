"""Reads lines, and writes headers."""

import json
import sys
from typing import Any

from manners import serve


def write(message: dict[str, Any]) -> None:
    body = json.dumps(message)
    sys.stdout.write(f"Content-Length: {len(body)}\r\n\r\n{body}\r\n")
    sys.stdout.flush()


serve(write)
