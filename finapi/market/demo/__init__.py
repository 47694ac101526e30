"""The data that ``finapi demo`` starts with, in finapi's own pack format (see market/documents/packs.py)."""

# The entry of App.static_bodies under which a demo stores the API key that its front page shows to every visitor.
DEMO_KEY = "key to try"
