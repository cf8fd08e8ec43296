"""Begins with a byte order mark."""

import sys

from manners import serve

sys.stdout.buffer.write(b"\xef\xbb\xbf")
serve()
