"""Steps from each schema of the population to the next. The first makes the tables of schema 1."""
