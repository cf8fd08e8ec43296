"""Answers the handshake alone."""

from manners import answer, serve

serve(answer=lambda message: answer(message) if message["method"] == "initialize" else None)
