"""Intake of documents: detection, parsing and storage, and the poller that follows EDGAR."""
