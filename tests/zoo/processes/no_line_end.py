"""Does not end its lines."""

import json

from manners import serve

serve(lambda message: print(json.dumps(message), end="", flush=True))
