"""What functions return, as the protocol has it."""
