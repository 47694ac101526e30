"""Building blocks of HTML pages: elements, the page layout, tables, charts, number formats, static files."""
