"""Writes in the code page of Windows."""

import json
import sys
from typing import Any

from manners import serve


def write(message: dict[str, Any]) -> None:
    text = json.dumps(message).replace("zoo", "Löwengehege")
    sys.stdout.buffer.write(f"{text}\n".encode("cp1252"))
    sys.stdout.buffer.flush()


serve(write)
