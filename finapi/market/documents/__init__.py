"""Features shared by every filed document: its source, the filing that it belongs to, and its announcement."""
