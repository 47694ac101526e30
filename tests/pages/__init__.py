"""The pages, asked for in process."""
