"""Is no MCP server, but says whatever it is told."""

import sys

for line in sys.stdin:
    print(line, end="", flush=True)
