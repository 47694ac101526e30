-- name: has_body
SELECT EXISTS (SELECT 1 FROM filing_bodies WHERE filing_id = :filing_id AND seq = :seq)

-- name: has_primary_body
SELECT EXISTS (SELECT 1 FROM filing_bodies WHERE filing_id = :filing_id AND is_primary)

-- name: body_sizes
SELECT bytes, exhibit_bytes FROM filing_bodies_size

-- name: insert_body
INSERT INTO filing_bodies (filing_id, seq, is_primary, is_searchable, media, packed, sha256)
VALUES (:filing_id, :seq, :is_primary, :is_searchable, :media, :packed, :sha256)

-- name: filing_body
SELECT filing_bodies.media, filing_bodies.packed
FROM filings
JOIN filing_bodies ON filing_bodies.filing_id = filings.id
WHERE filings.accession = :accession AND filing_bodies.is_primary

-- name: document_body
-- A document is named by its position or by its file name.
SELECT filing_documents.filename, filing_documents.size, filing_bodies.media, filing_bodies.packed
FROM filings
JOIN filing_documents ON filing_documents.filing_id = filings.id
LEFT JOIN filing_bodies
    ON filing_bodies.filing_id = filing_documents.filing_id AND filing_bodies.seq = filing_documents.seq
WHERE filings.accession = :accession AND (filing_documents.seq = :seq OR filing_documents.filename = :filename)
ORDER BY filing_documents.seq
LIMIT 1

-- name: primary_document_body
-- The primary document if it has this file name. A page that was stored alone is in no list of documents.
SELECT filings.primary_document AS filename, 0 AS size, filing_bodies.media, filing_bodies.packed
FROM filings
JOIN filing_bodies ON filing_bodies.filing_id = filings.id
WHERE filings.accession = :accession AND filing_bodies.is_primary AND filings.primary_document = :filename

-- name: next_unindexed_body
SELECT id, filing_id, media, packed
FROM filing_bodies
WHERE id > :after AND is_searchable
    AND NOT EXISTS (SELECT 1 FROM filing_texts WHERE filing_texts.body_id = filing_bodies.id)
ORDER BY id
LIMIT 1

-- name: filing_of_body
SELECT filings.filed_at
FROM filing_bodies
JOIN filings ON filings.id = filing_bodies.filing_id
WHERE filing_bodies.id = :body_id
