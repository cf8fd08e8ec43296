"""Takes its time to start."""

import time

from manners import serve

time.sleep(0.2)
serve()
