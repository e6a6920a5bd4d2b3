"""The command line: arguments in, rows out."""
