"""Takes a request with the id 0 for a notification."""

from manners import answer, serve

serve(answer=lambda message: answer(message) if message.get("id") else None)
