"""What the SEC publishes, as values: pure parsers that take bytes and open no file, socket or clock."""
