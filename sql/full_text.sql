-- The words of the stored documents and their positions, for full text search. Only an SQLite with FTS5 can have this
-- table, so it is not part of sql/schema.sql: it is created by the first start that can.
--
-- rowid is filing_texts.place. The text itself is in filing_texts; case and accents are removed before it is inserted
-- (market/documents/text_index.py).
CREATE VIRTUAL TABLE IF NOT EXISTS filing_words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 0');
