"""Writes JSON as people like it."""

import json

from manners import serve

serve(lambda message: print(json.dumps(message, indent=2), flush=True))
