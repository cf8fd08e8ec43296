"""Writes two messages into one line."""

import json

from manners import serve

LOG = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
serve(lambda message: print(json.dumps(message), json.dumps(LOG), flush=True))
