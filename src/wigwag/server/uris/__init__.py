"""URI templates: parsing, matching, expanding, and what a value may be."""
