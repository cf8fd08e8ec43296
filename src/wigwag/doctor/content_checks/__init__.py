"""What the doctor looks at in what a server offers, one kind of thing in each module."""
