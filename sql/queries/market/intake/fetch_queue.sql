-- name: insert_followed
INSERT INTO followed (cik, added_at, due_at) VALUES (:cik, :now, :now) ON CONFLICT (cik) DO NOTHING

-- name: delete_followed
DELETE FROM followed WHERE cik = :cik

-- name: followed
SELECT followed.cik, followed.added_at, companies.name, companies.ticker
FROM followed
LEFT JOIN companies_with_ticker AS companies ON companies.cik = followed.cik
ORDER BY followed.cik

-- name: followed_among
SELECT cik FROM followed WHERE cik IN (SELECT value FROM json_each(:ciks))

-- name: due_companies
SELECT cik FROM (SELECT cik FROM followed WHERE due_at <= :now ORDER BY due_at, cik LIMIT :limit)
UNION ALL
SELECT cik FROM followed WHERE due_at > :latest
LIMIT :limit

-- name: update_followed_due
UPDATE followed SET due_at = :due_at WHERE cik = :cik

-- name: update_followed_due_now
UPDATE followed SET due_at = :now WHERE cik = :cik AND due_at > :now

-- name: insert_wanted_document
INSERT INTO wanted_documents (accession, cik, form, due_at) VALUES (:accession, :cik, :form, :now)
ON CONFLICT (accession) DO NOTHING

-- name: recent_filings_of_company
SELECT filings.accession, filings.form, filings.is_xbrl
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id
WHERE filing_parties.cik = :cik AND filings.filed_at >= :since AND filings.form IS NOT NULL

-- name: due_documents
SELECT * FROM (
    SELECT accession, cik, form, tries
    FROM wanted_documents
    WHERE state = 'due' AND due_at <= :now
    ORDER BY due_at, accession
    LIMIT :limit
)
UNION ALL
SELECT accession, cik, form, tries FROM wanted_documents WHERE state = 'due' AND due_at > :latest
LIMIT :limit

-- name: due_document_count
SELECT count(*) FROM (SELECT 1 FROM wanted_documents WHERE state = 'due' AND due_at <= :now LIMIT 100000)

-- name: update_finished_document
UPDATE wanted_documents
SET state = :state, tries = tries + 1, done_at = :now, due_at = NULL, reason = :reason
WHERE accession = :accession AND state = 'due'

-- name: update_postponed_document
UPDATE wanted_documents
SET tries = tries + 1, due_at = :due_at, reason = :reason
WHERE accession = :accession AND state = 'due'

-- name: failed_documents
-- Documents that were given up, then postponed ones, the latest first.
SELECT accession, printf('%010d', cik) AS cik, form, CASE state WHEN 'refused' THEN 'given_up' ELSE 'put_off' END AS state, tries, reason,
    done_at AS given_up_at, due_at AS next_try_at
FROM wanted_documents
WHERE state = 'refused' OR (state = 'due' AND tries > 0)
ORDER BY wanted_documents.state DESC, coalesce(done_at, due_at) DESC, accession

-- name: given_up_document_count
SELECT count(*) FROM (
    SELECT 1 FROM wanted_documents
    WHERE (state = 'refused' OR (state = 'due' AND tries > 0)) AND state = 'refused'
    LIMIT 100000
)

-- name: update_failed_documents_due
UPDATE wanted_documents
SET state = 'due', tries = 0, due_at = :now, done_at = NULL
WHERE (:accession IS NULL OR accession = :accession) AND (state = 'refused' OR (state = 'due' AND tries > 0))

-- name: delete_finished_documents
DELETE FROM wanted_documents WHERE done_at < :before

-- name: poll_states
SELECT name, value FROM poll_state ORDER BY name
