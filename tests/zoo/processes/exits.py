"""Serves nobody."""

import manners  # noqa: F401 - it forgets to call anything of it
