-- name: has_body
SELECT EXISTS (SELECT 1 FROM filing_bodies WHERE filing_id = :filing_id)

-- name: bodies_size
SELECT bytes FROM filing_bodies_size

-- name: insert_body
INSERT INTO filing_bodies (filing_id, media, packed, sha256) VALUES (:filing_id, :media, :packed, :sha256)

-- name: filing_body
SELECT filing_bodies.media, filing_bodies.packed
FROM filings
JOIN filing_bodies ON filing_bodies.filing_id = filings.id
WHERE filings.accession = :accession

-- name: next_unindexed_body
SELECT filing_id, media, packed
FROM filing_bodies
WHERE filing_id > :after AND NOT EXISTS (SELECT 1 FROM filing_texts WHERE filing_texts.filing_id = filing_bodies.filing_id)
ORDER BY filing_id
LIMIT 1
