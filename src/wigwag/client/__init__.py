"""The public `Client`, what it can connect to, and how it answers a server's questions."""
