"""The parts of an examination of a server that is started as a process."""
