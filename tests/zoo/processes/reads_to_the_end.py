"""Reads all of its input before it answers anything."""

import sys

from manners import serve

serve(lines=sys.stdin.read().splitlines())
