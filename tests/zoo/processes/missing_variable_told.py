"""Says that a variable is not set."""

import os
import sys

from manners import serve

if not os.environ.get("ZOO_API_KEY"):
    sys.exit("Error: ZOO_API_KEY environment variable is required")
serve()
