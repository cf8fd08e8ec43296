"""Leaves its answers in the buffer of standard output."""

import json
import sys

from manners import serve

serve(lambda message: sys.stdout.write(json.dumps(message) + "\n"))
