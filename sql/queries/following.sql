-- name: follow
INSERT INTO followed (cik, added_at, due_at) VALUES (:cik, :now, :now) ON CONFLICT (cik) DO NOTHING

-- name: unfollow
DELETE FROM followed WHERE cik = :cik

-- name: followed
SELECT followed.cik, followed.added_at, companies.name, (
    SELECT ticker FROM tickers WHERE tickers.cik = followed.cik ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
) AS ticker
FROM followed
LEFT JOIN companies ON companies.cik = followed.cik
ORDER BY followed.cik

-- name: followed_among
SELECT cik FROM followed WHERE cik IN (SELECT value FROM json_each(:ciks))

-- name: followed_due
SELECT cik FROM followed WHERE due_at <= :now ORDER BY due_at, cik LIMIT :limit

-- name: put_followed_due
UPDATE followed SET due_at = :due_at WHERE cik = :cik

-- name: hasten_followed
UPDATE followed SET due_at = :now WHERE cik = :cik AND due_at > :now

-- name: want_documents
INSERT INTO wanted_documents (accession, cik, form, due_at) VALUES (:accession, :cik, :form, :now)
ON CONFLICT (accession) DO NOTHING

-- name: recent_filings_of
SELECT filings.accession, filings.form, filings.is_xbrl
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id
WHERE filing_parties.cik = :cik AND filings.filed_at >= :since AND filings.form IS NOT NULL

-- name: documents_due
SELECT accession, cik, form, tries
FROM wanted_documents
WHERE state = 'due' AND due_at <= :now
ORDER BY due_at, accession
LIMIT :limit

-- name: count_documents_due
SELECT count(*) FROM wanted_documents WHERE state = 'due' AND due_at <= :now

-- name: end_document
UPDATE wanted_documents
SET state = :state, done_at = :now, due_at = NULL, reason = :reason
WHERE accession = :accession AND state = 'due'

-- name: put_off_document
UPDATE wanted_documents
SET tries = tries + 1, due_at = :due_at, reason = :reason
WHERE accession = :accession AND state = 'due'

-- name: delay_document
UPDATE wanted_documents SET due_at = :due_at WHERE accession = :accession AND state = 'due' AND due_at < :due_at

-- name: forget_documents
DELETE FROM wanted_documents WHERE done_at < :before
