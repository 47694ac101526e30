"""Owners of more than five per cent (Schedules 13D and 13G), proposed sales (Form 144) and holders over all forms."""
