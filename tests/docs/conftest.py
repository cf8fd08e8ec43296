"""The tests of the pages."""

# Programs that the pages use, not modules of tests.
collect_ignore = ["given"]
