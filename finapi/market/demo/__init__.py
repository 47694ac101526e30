"""The data that ``finapi demo`` starts with, in finapi's own pack format (see market/documents/packs.py)."""
