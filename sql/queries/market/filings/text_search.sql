-- part: matching_texts
FROM filing_words
JOIN filing_texts ON filing_texts.place = filing_words.rowid
JOIN filing_bodies ON filing_bodies.id = filing_texts.body_id
JOIN filings ON filings.id = filing_bodies.filing_id
LEFT JOIN filing_documents
    ON filing_documents.filing_id = filing_bodies.filing_id AND filing_documents.seq = filing_bodies.seq
WHERE filing_words MATCH :match AND filing_words.rowid >= :first
    AND (:forms IS NULL OR filings.form IN (SELECT value FROM json_each(:forms)))
    AND (:ciks IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:ciks) AS wanted
        JOIN filing_parties ON filing_parties.filing_id = filings.id AND filing_parties.cik = wanted.value))

-- name: text_matches
SELECT filing_texts.place, filings.accession, filing_texts.packed, filing_bodies.seq, filing_bodies.is_primary,
    filing_documents.type, filing_documents.filename, filing_documents.description
{matching_texts}
    AND filing_words.rowid < :before
ORDER BY filing_words.rowid DESC
LIMIT :limit OFFSET :skip

-- name: text_match_count
SELECT count(*) FROM (SELECT 1 {matching_texts} AND filing_words.rowid < :end LIMIT :most)

-- name: text_counts
SELECT documents, texts FROM filing_bodies_size
