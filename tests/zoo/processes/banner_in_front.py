"""Writes its greeting into the line of the first message."""

from manners import serve

print("Loading... ", end="", flush=True)
serve()
