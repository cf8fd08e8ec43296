"""Ends its lines as old Macs did."""

import json

from manners import serve

serve(lambda message: print(json.dumps(message), end="\r", flush=True))
