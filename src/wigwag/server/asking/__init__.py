"""Asking the client in the middle of a call, in both eras."""
