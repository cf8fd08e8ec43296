"""The public `Server`, its `Context`, and what turns functions into features."""
