"""The verbs of the command line, a module for each family; ``table`` has them by name and loads the one asked for."""
