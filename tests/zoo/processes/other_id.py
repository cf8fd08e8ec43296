"""Makes a text of the ids of requests."""

from manners import serve, write

serve(lambda message: write({**message, "id": str(message["id"])}))
