"""The verbs of the command line, one module for each group. ``verb_table`` imports a module when it is first needed."""
