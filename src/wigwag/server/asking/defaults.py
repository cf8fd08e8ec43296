"""Defaults that are part of several signatures."""

from typing import Final

ANSWER_TIMEOUT: Final = 600.0
"""Seconds that a legacy client has to answer a question, unless the question says otherwise."""
