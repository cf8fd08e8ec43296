"""The parts of an examination of the configuration of a host."""
