"""The account of a data set in a SQLite file."""
