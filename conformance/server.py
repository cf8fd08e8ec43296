"""The server that the conformance suite tests, in every revision at once.

    python conformance/server.py PORT

It serves `http://localhost:PORT/mcp` until it is told to end.
"""

import sys
from pathlib import Path

# A program finds modules beside itself, and these are named from the checkout on.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.questions import server

if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    server.run("http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp")
