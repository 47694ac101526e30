-- name: report_hashes
SELECT filings.accession, reports.source, reports.sha256
FROM json_each(:accessions) AS requested
CROSS JOIN filings ON filings.accession = requested.value
CROSS JOIN reports ON reports.filing_id = filings.id
ORDER BY filings.accession, reports.source, reports.sha256
