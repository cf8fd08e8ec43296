"""Open connections that carry messages. They do not follow the conversation."""
