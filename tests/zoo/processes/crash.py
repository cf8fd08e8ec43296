"""Raises at start."""

raise RuntimeError("the lions are out")
