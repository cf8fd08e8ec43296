"""What Python annotations mean: which JSON they stand for, how it is read, and its schema."""
