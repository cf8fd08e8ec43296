"""Leaves out which JSON-RPC it speaks."""

from manners import serve, write

serve(lambda message: write({key: message[key] for key in message if key != "jsonrpc"}))
