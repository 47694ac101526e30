-- name: announced_filing
SELECT filings.id, filings.accession, filings.cik, filings.form, filings.filed_at, filings.accepted_at,
    filings.period_of_report, filings.primary_document, filings.size, companies.name, companies.sic
FROM filings
JOIN companies ON companies.cik = filings.cik
WHERE filings.accession = :accession

-- name: mark_announced
INSERT OR IGNORE INTO announced_filings (accession) VALUES (:accession)

-- name: latest_report_of
SELECT reports.form, reports.period_of_report, reports.fiscal_year, reports.fiscal_period, reports.statements
FROM reports
JOIN filings ON filings.id = reports.filing_id
WHERE filings.accession = :accession
ORDER BY reports.id DESC
LIMIT 1

