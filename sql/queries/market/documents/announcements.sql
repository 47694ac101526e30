-- name: filing_times
SELECT filed_at, accepted_at FROM filings WHERE accession = :accession

-- name: parties_in_order
SELECT filing_parties.cik
FROM filings
JOIN filing_parties ON filing_parties.filing_id = filings.id
WHERE filings.accession = :accession
ORDER BY filing_parties.rank, filing_parties.cik

-- name: tickers_of_parties
SELECT tickers.ticker
FROM filings
JOIN filing_parties ON filing_parties.filing_id = filings.id
JOIN tickers ON tickers.cik = filing_parties.cik
WHERE filings.accession = :accession
ORDER BY filing_parties.rank, filing_parties.cik, tickers.source DESC, tickers.last_seen DESC, tickers.position, tickers.ticker

-- name: insert_announced_filing
INSERT OR IGNORE INTO announced_filings (accession, undated) VALUES (:accession, :undated)

-- name: update_announced_filing_dated
UPDATE announced_filings
SET undated = 0
WHERE accession = :accession AND undated = 1
    AND EXISTS (
        SELECT 1 FROM filings WHERE filings.accession = :accession AND coalesce(accepted_at, filed_at) IS NOT NULL
    )

-- name: latest_report_of_filing
SELECT reports.form AS form_type, reports.period_of_report, reports.fiscal_year, reports.fiscal_period,
    reports.statements AS statement_count, reports.sha256
FROM reports
JOIN filings ON filings.id = reports.filing_id
WHERE filings.accession = :accession
ORDER BY reports.id DESC
LIMIT 1
