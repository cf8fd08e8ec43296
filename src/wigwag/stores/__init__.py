"""Where state is kept that outlives a request: one interface, in memory unless another is given."""
