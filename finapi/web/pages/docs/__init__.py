"""The documentation: guides in Markdown and a reference built from the route table, as HTML and as Markdown."""
