"""Greets on standard output."""

from manners import serve

print("Zoo server starting...", flush=True)
serve()
