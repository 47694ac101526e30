-- name: schedules_to_pack
SELECT filing.accession, filing.source, filing.filed_at, filings.accepted_at, stored.document, stored.body
FROM schedule_filings AS filing
JOIN schedule_bodies AS stored ON stored.filing_id = filing.id
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.id
