"""What is looked at when a server is reached by a URL, one module for each kind of fault."""
