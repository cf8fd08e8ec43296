"""JSON-RPC 2.0: messages, their encoding, and what is in flight. Knows nothing of MCP."""
