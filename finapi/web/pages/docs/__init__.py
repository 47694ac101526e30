"""The documentation: guides in Markdown, the reference made from the route table, both for people and for models."""
