"""Reads a variable that nobody has set."""

import os

from manners import serve

TOKEN = os.environ["ZOO_TOKEN"]
serve()
