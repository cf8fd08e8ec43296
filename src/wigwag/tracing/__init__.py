"""Watches conversations: records them, plays them again, and renders them."""
