"""What finapi makes of the SEC's documents, and how it is stored and found; a room for each subject."""
