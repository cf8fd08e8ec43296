"""Writes UTF-16."""

import io
import sys

from manners import serve

sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-16")
serve()
