"""Is no Python."""

exec(compile("for = 3\n", "cage.py", "exec"))
