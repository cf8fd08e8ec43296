"""Runs conversations: the only place that owns tasks, timers and worker threads."""
