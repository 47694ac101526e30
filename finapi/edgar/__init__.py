"""Parsers of the documents that the SEC publishes: bytes in, values out. They open no file, socket or clock."""
