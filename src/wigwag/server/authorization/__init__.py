"""Whom a protected server believes: verifying tokens, and the proofs that go with them."""
