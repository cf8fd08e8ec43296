"""Imports what is not installed."""

import lions_and_tigers  # type: ignore[import-not-found]  # noqa: F401 - that is the fault
from manners import serve

serve()
