-- name: bulk_filings
-- Every filing has the empty term, and its rows are indexed by day. A number holds the digits of the accession number.
SELECT printf('%010d-%02d-%06d', number / 100000000, number / 1000000 % 100, number % 1000000) AS accession_number
FROM filing_terms
WHERE term = '' AND filed_at BETWEEN :first AND :last
ORDER BY filed_at, number

-- name: bulk_filing_rows
SELECT * FROM filing WHERE accession_number = :accession_number

-- name: bulk_facts
SELECT accession AS accession_number
FROM filing_terms
CROSS JOIN filings
    ON accession = printf('%010d-%02d-%06d', number / 100000000, number / 1000000 % 100, number % 1000000)
WHERE term = '' AND filing_terms.filed_at BETWEEN :first AND :last
    AND EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.filing_id = filings.id)
ORDER BY filing_terms.filed_at, number

-- name: bulk_fact_rows
SELECT * FROM fact WHERE accession_number = :accession_number
ORDER BY cik, concept, unit, end_date, start_date, value

-- name: bulk_insiders
SELECT accession AS accession_number FROM insider_forms
WHERE form IN (:form, :form || '/A') AND filed_day BETWEEN :first_day AND :last_day
ORDER BY filed_day, accession

-- name: bulk_insider_rows
SELECT * FROM insider_transaction WHERE accession_number = :accession_number
ORDER BY derivative, seq, insider_cik

-- name: bulk_holdings
SELECT holdings_reports.cik AS fund_cik, holdings_reports.period, accession AS accession_number, filed_at
FROM holdings_reports
JOIN fund_quarters ON fund_quarters.cik = holdings_reports.cik AND fund_quarters.period = holdings_reports.period
    AND report_id = holdings_reports.id
WHERE filed_at BETWEEN :first AND :last
ORDER BY filed_at, accession

-- name: bulk_holding_rows
SELECT :accession_number AS accession_number, :filed_at AS filed_at, holding.* FROM holding
WHERE fund_cik = :fund_cik AND period = :period
ORDER BY cusip, kind

-- name: bulk_ownership
SELECT accession AS accession_number FROM schedule_filings
WHERE filed_day BETWEEN :first_day AND :last_day AND +id > 0
ORDER BY filed_day, id

-- name: bulk_ownership_rows
SELECT * FROM beneficial_ownership WHERE accession_number = :accession_number ORDER BY seq

-- name: bulk_sales
SELECT accession AS accession_number FROM sale_notices
WHERE filed_day BETWEEN :first_day AND :last_day AND +id > 0
ORDER BY filed_day, id

-- name: bulk_sale_rows
SELECT * FROM proposed_sale WHERE accession_number = :accession_number ORDER BY seq

-- name: bulk_fund_reports
SELECT accession AS accession_number, filed_at FROM fund_reports
WHERE filed_at BETWEEN :first AND :last AND is_current AND accession NOT GLOB 'unfiled-*'
ORDER BY filed_at, accession

-- name: bulk_fund_positions
SELECT :filed_at AS filed_at, fund_position.* FROM fund_position WHERE accession_number = :accession_number
ORDER BY seq
