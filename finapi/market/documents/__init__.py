"""What every filed document has in common: where it comes from, which filing it belongs to, and who is told of it."""
