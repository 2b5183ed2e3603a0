"""One module for each step: from the schema before to that of its name."""
