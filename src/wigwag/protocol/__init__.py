"""One end of an MCP conversation as a pure state machine: no I/O, no tasks, no clock."""
