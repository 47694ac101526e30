-- Which words the kept documents have, and where. The text stands in filing_texts; case and accents are taken off
-- before it comes here (market/documents/fulltext.py).
CREATE VIRTUAL TABLE IF NOT EXISTS filing_words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 0');
