"""Owners of more than five per cent (Schedules 13D and 13G), and sales that are proposed (Form 144)."""
