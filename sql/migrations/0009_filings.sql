-- Filings as they are asked for: who is part of one, from which source each field is, and one list in the order
-- of filing dates for everything that a caller may filter by.

ALTER TABLE filings ADD COLUMN description TEXT;
ALTER TABLE filings ADD COLUMN file_number TEXT;
-- One digit a field, in the order of market/documents/filings.py: how far the source of its value is to be trusted.
ALTER TABLE filings ADD COLUMN evidence TEXT NOT NULL DEFAULT '';
ALTER TABLE filings ADD COLUMN first_seen_at TEXT NOT NULL DEFAULT '';
ALTER TABLE filings ADD COLUMN updated_at TEXT NOT NULL DEFAULT '';

-- Every company and person of a filing; the one with the lowest rank is whose filing it is.
CREATE TABLE filing_parties (
    filing_id INTEGER NOT NULL REFERENCES filings (id) ON DELETE CASCADE,
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    rank      INTEGER NOT NULL,
    PRIMARY KEY (filing_id, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX filing_parties_by_company ON filing_parties (cik, filing_id);

-- The documents of a filing as its full submission lists them.
CREATE TABLE filing_documents (
    filing_id   INTEGER NOT NULL REFERENCES filings (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    type        TEXT NOT NULL,
    filename    TEXT,
    description TEXT,
    size        INTEGER NOT NULL,
    PRIMARY KEY (filing_id, seq)
) STRICT, WITHOUT ROWID;

-- The primary document itself, as text in UTF-8, compressed.
CREATE TABLE filing_bodies (
    filing_id INTEGER PRIMARY KEY REFERENCES filings (id) ON DELETE CASCADE,
    media     TEXT NOT NULL CHECK (media IN ('html', 'text')),
    packed    BLOB NOT NULL
) STRICT;

-- How much filing_bodies holds, kept by its triggers so that the bound on it costs nothing to ask.
CREATE TABLE filing_bodies_size (bytes INTEGER NOT NULL) STRICT;
INSERT INTO filing_bodies_size VALUES (0);
CREATE TRIGGER filing_bodies_added AFTER INSERT ON filing_bodies BEGIN
    UPDATE filing_bodies_size SET bytes = bytes + length(NEW.packed);
END;
CREATE TRIGGER filing_bodies_removed AFTER DELETE ON filing_bodies BEGIN
    UPDATE filing_bodies_size SET bytes = bytes - length(OLD.packed);
END;

-- A term is '' for every filing, 'c320193' for a company, 'f10-K' for a form, 'i2.02' for an item of an 8-K,
-- 'eEX-99.1' for a document type inside. number is the accession number without its dashes.
CREATE TABLE filing_terms (
    term     TEXT NOT NULL,
    filed_at TEXT NOT NULL,
    number   INTEGER NOT NULL,
    PRIMARY KEY (term, filed_at, number)
) STRICT, WITHOUT ROWID;

-- How many filings a term has: all of them, and each form.
CREATE TABLE term_counts (
    term    TEXT PRIMARY KEY,
    filings INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER filing_terms_added AFTER INSERT ON filing_terms
WHEN NEW.term = '' OR (NEW.term >= 'f' AND NEW.term < 'g') BEGIN
    INSERT INTO term_counts VALUES (NEW.term, 1) ON CONFLICT (term) DO UPDATE SET filings = filings + 1;
END;
CREATE TRIGGER filing_terms_removed AFTER DELETE ON filing_terms
WHEN OLD.term = '' OR (OLD.term >= 'f' AND OLD.term < 'g') BEGIN
    UPDATE term_counts SET filings = filings - 1 WHERE term = OLD.term;
    DELETE FROM term_counts WHERE term = OLD.term AND filings = 0;
END;

-- Which companies are part of how many filings of a form.
CREATE TABLE form_entities (
    form    TEXT NOT NULL,
    cik     INTEGER NOT NULL REFERENCES companies (cik),
    filings INTEGER NOT NULL,
    PRIMARY KEY (form, cik)
) STRICT, WITHOUT ROWID;

-- The older pages that a submissions document names, and whether each has been ingested.
CREATE TABLE submission_pages (
    name     TEXT PRIMARY KEY,
    cik      INTEGER NOT NULL REFERENCES companies (cik),
    filings  INTEGER,
    first    TEXT,
    last     TEXT,
    ingested INTEGER NOT NULL DEFAULT 0 CHECK (ingested IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX submission_pages_by_company ON submission_pages (cik, name);

-- Of when the attributes are and from how good a source, so that an older document never replaces a newer one's.
ALTER TABLE companies ADD COLUMN attributes_rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE companies ADD COLUMN attributes_as_of TEXT NOT NULL DEFAULT '';

-- Of which day the best document that tells of the ticker is: one that a later document of the company no longer
-- tells of is history.
ALTER TABLE tickers ADD COLUMN last_seen TEXT NOT NULL DEFAULT '';
CREATE INDEX tickers_squeezed ON tickers (replace(ticker, '-', ''));

-- A list of filings gave sizes; the documents of a filing did not.
UPDATE filings SET evidence = CASE WHEN size IS NULL THEN '11111111111' ELSE '33333333333' END;
INSERT INTO filing_parties SELECT id, cik, 20 FROM filings;
INSERT INTO filing_terms
SELECT terms.value, coalesce(filings.filed_at, ''), CAST(replace(filings.accession, '-', '') AS INTEGER)
FROM filings
JOIN json_each(
    CASE WHEN filings.items IS NULL OR filings.items GLOB '*[^0-9.,]*' THEN json_array('', 'c' || filings.cik, 'f' || coalesce(filings.form, ''))
    ELSE json('["","c' || filings.cik || '","f' || coalesce(filings.form, '') || '","i'
        || replace(filings.items, ',', '","i') || '"]') END
) AS terms
WHERE filings.accession NOT GLOB 'unfiled-*' AND terms.value <> 'f'
GROUP BY 1, 2, 3;
INSERT INTO form_entities SELECT form, cik, count(*) FROM filings
WHERE form IS NOT NULL AND accession NOT GLOB 'unfiled-*' GROUP BY form, cik;
