"""The verbs of the command line, a module for each family; ``verb_table`` imports a module when it is used."""
