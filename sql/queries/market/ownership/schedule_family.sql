-- name: schedules_to_pack
SELECT filing.accession, filing.source, filing.filed_at, filings.accepted_at, held.document, held.body
FROM schedule_filings AS filing
JOIN schedule_bodies AS held ON held.filing_id = filing.id
LEFT JOIN filings ON filings.accession = filing.accession
ORDER BY filing.id
