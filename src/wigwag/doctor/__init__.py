"""Finds out why a server does not work, and says what to change."""
