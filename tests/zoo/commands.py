"""Commands with which no server comes up, because they are wrong themselves."""

import sys
from typing import Final

COMMANDS: Final = {
    "no-such-program": ["no-such-program-in-this-zoo", "--stdio"],
    "no-such-script": [sys.executable, "/no/such/folder/server.py"],
}
