"""The data that ``finapi demo`` starts with, in a format of finapi's own (see market/statements/pack.py)."""
