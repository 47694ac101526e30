-- name: company_by_cik
SELECT cik, name, (
    SELECT ticker FROM tickers WHERE tickers.cik = companies.cik ORDER BY source DESC, position, ticker LIMIT 1
) AS ticker
FROM companies
WHERE cik = :cik

-- name: company_by_ticker
SELECT companies.cik, companies.name, tickers.ticker
FROM tickers
JOIN companies ON companies.cik = tickers.cik
WHERE tickers.ticker = :ticker
ORDER BY tickers.source DESC, companies.name_as_of DESC, companies.cik
LIMIT 1

-- name: put_company_name
INSERT INTO companies (cik, name, name_rank, name_as_of)
VALUES (:cik, :name, :rank, :as_of)
ON CONFLICT (cik) DO UPDATE
SET name = excluded.name, name_rank = excluded.name_rank, name_as_of = excluded.name_as_of
WHERE (excluded.name_rank, excluded.name_as_of, excluded.name)
    > (companies.name_rank, companies.name_as_of, companies.name)

-- name: put_company_attributes
UPDATE companies
SET sic = coalesce(:sic, sic),
    fiscal_year_end = coalesce(:fiscal_year_end, fiscal_year_end),
    state = coalesce(:state, state),
    entity_type = coalesce(:entity_type, entity_type)
WHERE cik = :cik

-- name: put_ticker
INSERT INTO tickers (ticker, cik, exchange, source, position)
VALUES (:ticker, :cik, :exchange, :source, :position)
ON CONFLICT (ticker, cik) DO UPDATE
SET exchange = coalesce(excluded.exchange, exchange), source = excluded.source, position = excluded.position
WHERE excluded.source >= tickers.source

-- name: put_former_name
INSERT OR IGNORE INTO former_names (cik, name, from_date, to_date)
VALUES (:cik, :name, :from_date, :to_date)

-- name: put_filing
INSERT INTO filings (accession, cik, form, filed_at, accepted_at, period_of_report, primary_document, items, size,
    is_xbrl, is_inline_xbrl)
VALUES (:accession, :cik, :form, :filed_at, :accepted_at, :period, :primary_document, :items, :size,
    :is_xbrl, :is_inline_xbrl)
ON CONFLICT (accession) DO UPDATE
SET form = coalesce(excluded.form, form),
    filed_at = coalesce(excluded.filed_at, filed_at),
    accepted_at = coalesce(excluded.accepted_at, accepted_at),
    period_of_report = coalesce(excluded.period_of_report, period_of_report),
    primary_document = coalesce(excluded.primary_document, primary_document),
    items = coalesce(excluded.items, items),
    size = coalesce(excluded.size, size),
    is_xbrl = coalesce(excluded.is_xbrl, is_xbrl),
    is_inline_xbrl = coalesce(excluded.is_inline_xbrl, is_inline_xbrl)

-- name: filings_like
-- Filings that a list of the SEC's told of (it gives a size); what another XBRL document claimed is no evidence.
SELECT accession, filed_at
FROM filings
WHERE cik = :cik AND form = :form AND period_of_report = :period AND filed_at IS NOT NULL AND size IS NOT NULL
LIMIT 2

-- name: filing_date
SELECT filed_at FROM filings WHERE accession = :accession

-- name: filing_id
SELECT id FROM filings WHERE accession = :accession

-- name: unfiled
SELECT id, form, period_of_report FROM filings WHERE cik = :cik AND accession GLOB 'unfiled-*'

-- name: move_reports
UPDATE reports SET filing_id = :filing_id WHERE filing_id = :unfiled_id

-- name: delete_filing
DELETE FROM filings WHERE id = :id
