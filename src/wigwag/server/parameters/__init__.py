"""What a function takes: arguments of the client, and what is not one."""
