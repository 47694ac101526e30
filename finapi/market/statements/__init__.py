"""Statements and facts as filed: reports into rows, and rows arranged as the filing shows them."""
