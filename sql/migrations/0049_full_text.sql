-- The kept documents' plain text, for full text search, and what lists of filings are searched by.

-- The words themselves stand in filing_words (sql/full_text), which only a SQLite with FTS5 has.
-- place is its row there: the filing day and the filing's id, so that the newest stand last (market/documents/fulltext.py).
CREATE TABLE filing_texts (
    filing_id  INTEGER PRIMARY KEY REFERENCES filing_bodies (filing_id) ON DELETE CASCADE,
    place      INTEGER NOT NULL UNIQUE,
    characters INTEGER NOT NULL,
    packed     BLOB NOT NULL
) STRICT;

-- How much is kept and searched, by triggers: the bounds on it cost nothing to ask.
ALTER TABLE filing_bodies_size ADD COLUMN documents INTEGER NOT NULL DEFAULT 0;
ALTER TABLE filing_bodies_size ADD COLUMN texts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE filing_bodies_size ADD COLUMN characters INTEGER NOT NULL DEFAULT 0;
UPDATE filing_bodies_size SET documents = (SELECT count(*) FROM filing_bodies);
DROP TRIGGER filing_bodies_added;
DROP TRIGGER filing_bodies_removed;
CREATE TRIGGER filing_bodies_added AFTER INSERT ON filing_bodies BEGIN
    UPDATE filing_bodies_size SET bytes = bytes + length(NEW.packed), documents = documents + 1;
END;
CREATE TRIGGER filing_bodies_removed AFTER DELETE ON filing_bodies BEGIN
    UPDATE filing_bodies_size SET bytes = bytes - length(OLD.packed), documents = documents - 1;
END;
CREATE TRIGGER filing_texts_added AFTER INSERT ON filing_texts BEGIN
    UPDATE filing_bodies_size SET texts = texts + 1, characters = characters + NEW.characters;
END;
CREATE TRIGGER filing_texts_removed AFTER DELETE ON filing_texts BEGIN
    UPDATE filing_bodies_size SET texts = texts - 1, characters = characters - OLD.characters;
END;
