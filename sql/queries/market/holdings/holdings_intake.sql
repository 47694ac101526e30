-- name: holdings_reports_to_pack
SELECT holdings_reports.*, filings.accepted_at
FROM holdings_reports
JOIN filings ON filings.id = holdings_reports.filing_id
ORDER BY holdings_reports.accession, holdings_reports.sha256

-- name: holdings_to_pack
SELECT holding_names.issuer, holding_names.title, securities.cusip, kind, principal, value, amount, figi, discretion,
    managers AS manager_numbers, sole AS sole_voting, shared AS shared_voting, none AS no_voting
FROM holdings
JOIN securities ON securities.id = holdings.security_id
JOIN holding_names ON holding_names.id = holdings.name_id
WHERE report_id = :report_id
ORDER BY holdings.seq
