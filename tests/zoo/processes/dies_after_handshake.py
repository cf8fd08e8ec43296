"""Fails at the first notification, for it has no id."""

from manners import answer, serve

serve(answer=lambda message: answer({**message, "id": message["id"]}))
