"""Authorization of a client: what does the steps that the flows of `wigwag.oauth` ask for."""
