"""Mutual funds and ETFs by their monthly reports (Form N-PORT): reports, positions, holders and changes."""
