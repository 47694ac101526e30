-- name: bulk_filings
SELECT accession AS accession_number FROM filings
WHERE filed_at BETWEEN :first AND :last AND accession NOT GLOB 'unfiled-*'
ORDER BY filed_at, accession

-- name: bulk_filing_rows
SELECT * FROM filing WHERE accession_number = :accession_number

-- name: bulk_facts
SELECT accession AS accession_number FROM filings
WHERE filed_at BETWEEN :first AND :last AND EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.filing_id = filings.id)
ORDER BY filed_at, accession

-- name: bulk_fact_rows
SELECT * FROM fact WHERE accession_number = :accession_number
ORDER BY cik, concept, unit, end_date, start_date, value

-- name: bulk_insiders
SELECT accession AS accession_number FROM insider_forms
WHERE form IN (:form, :form || '/A') AND filed_at BETWEEN :first AND :last
ORDER BY filed_at, accession

-- name: bulk_insider_rows
SELECT * FROM insider_transaction WHERE accession_number = :accession_number
ORDER BY derivative, seq, insider_cik

-- name: bulk_holdings
SELECT fund_cik, period, accession_number, filed_at FROM fund_quarter
WHERE filed_at BETWEEN :first AND :last
ORDER BY filed_at, accession_number

-- name: bulk_holding_rows
SELECT :accession_number AS accession_number, :filed_at AS filed_at, holding.* FROM holding
WHERE fund_cik = :fund_cik AND period = :period
ORDER BY cusip, kind

-- name: bulk_ownership
SELECT accession AS accession_number FROM schedule_filings
WHERE filed_at BETWEEN :first AND :last AND id > 0
ORDER BY filed_at, accession

-- name: bulk_ownership_rows
SELECT * FROM beneficial_ownership WHERE accession_number = :accession_number ORDER BY seq

-- name: bulk_sales
SELECT accession AS accession_number FROM sale_notices
WHERE filed_at BETWEEN :first AND :last AND id > 0
ORDER BY filed_at, accession

-- name: bulk_sale_rows
SELECT * FROM proposed_sale WHERE accession_number = :accession_number ORDER BY seq
