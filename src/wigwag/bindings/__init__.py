"""How messages ride on a channel: framing, without doing any I/O."""
