"""Goes on when its input ends."""

import threading

from manners import serve

serve()
threading.Event().wait()
