-- name: filing_row
SELECT id, accession, form, filed_at, accepted_at, period_of_report, primary_document, description, items, size,
    is_xbrl, is_inline_xbrl, file_number, evidence
FROM filings
WHERE accession = :accession

-- name: filing_by_id
SELECT accession, filed_at FROM filings WHERE id = :id

-- name: filing_parties
SELECT cik, rank FROM filing_parties WHERE filing_id = :filing_id

-- name: stored_accessions
SELECT accession FROM filings WHERE accession IN (SELECT value FROM json_each(:accessions))

-- name: next_filing_id
SELECT coalesce(max(id), 0) + 1 FROM filings

-- name: insert_filings
INSERT INTO filings (id, accession, cik, evidence, first_seen_at, updated_at, form, filed_at, accepted_at,
    period_of_report, primary_document, description, items, size, is_xbrl, is_inline_xbrl, file_number)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_filing
UPDATE filings
SET cik = :cik,
    form = :form,
    filed_at = :filed_at,
    accepted_at = :accepted_at,
    period_of_report = :period_of_report,
    primary_document = :primary_document,
    description = :description,
    items = :items,
    size = :size,
    is_xbrl = :is_xbrl,
    is_inline_xbrl = :is_inline_xbrl,
    file_number = :file_number,
    evidence = :evidence,
    updated_at = :now
WHERE id = :id

-- name: upsert_filing_parties
INSERT INTO filing_parties (filing_id, cik, rank) VALUES (?, ?, ?)
ON CONFLICT (filing_id, cik) DO UPDATE SET rank = excluded.rank WHERE excluded.rank < rank

-- name: insert_parties_of_listed_filings
-- The new filings of a list were inserted just before, so their ids start at :first.
INSERT INTO filing_parties (filing_id, cik, rank) SELECT id, cik, :rank FROM filings WHERE id >= :first

-- name: insert_terms
INSERT INTO filing_terms (term, filed_at, number) VALUES (?, ?, ?)

-- name: delete_terms
DELETE FROM filing_terms WHERE term = ? AND filed_at = ? AND number = ?

-- name: upsert_term_counts
INSERT INTO term_counts (term, filings) VALUES (?, ?)
ON CONFLICT (term) DO UPDATE SET filings = filings + excluded.filings

-- name: delete_empty_term_counts
DELETE FROM term_counts WHERE term = ? AND filings = 0

-- name: update_filing_count
UPDATE held_counts SET number = number + :more WHERE name = 'filings'

-- name: upsert_form_entities
INSERT INTO form_entities (form, cik, filings) VALUES (?, ?, ?)
ON CONFLICT (form, cik) DO UPDATE SET filings = filings + excluded.filings

-- name: update_removed_form_entities
UPDATE form_entities SET filings = filings - 1 WHERE form = ? AND cik = ?

-- name: has_documents
SELECT EXISTS (SELECT 1 FROM filing_documents WHERE filing_id = :filing_id)

-- name: filing_documents
SELECT seq, type, filename, description, size FROM filing_documents WHERE filing_id = :filing_id ORDER BY seq

-- name: insert_documents
INSERT INTO filing_documents (filing_id, seq, type, filename, description, size) VALUES (?, ?, ?, ?, ?, ?)

-- name: insert_unfiled_filing
INSERT OR IGNORE INTO filings (accession, cik, form, period_of_report) VALUES (:accession, :cik, :form, :period)

-- name: filings_of_form_and_period
-- Only filings whose form is stated by the SEC or the operator (the first digit of the evidence is the form's), and not
-- just by another XBRL document.
SELECT filings.accession, filings.filed_at
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id
WHERE filing_parties.cik = :cik AND filings.form = :form AND filings.period_of_report = :period
    AND filings.filed_at IS NOT NULL AND filings.evidence >= '2'
LIMIT 2

-- name: filing_id
SELECT id FROM filings WHERE accession = :accession

-- name: unfiled
SELECT id, cik, form, period_of_report FROM filings WHERE cik = :cik AND accession GLOB 'unfiled-*'

-- name: delete_filing
DELETE FROM filings WHERE id = :id
