-- name: upsert_fund_classes
INSERT INTO fund_classes (class_id, series_id, series_name, cik, name, ticker, filed_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (class_id) DO UPDATE
SET series_id = excluded.series_id, series_name = excluded.series_name, cik = excluded.cik, name = excluded.name,
    ticker = excluded.ticker, filed_at = excluded.filed_at
WHERE (excluded.filed_at, excluded.series_id, coalesce(excluded.ticker, ''), coalesce(excluded.name, ''))
    > (fund_classes.filed_at, fund_classes.series_id, coalesce(fund_classes.ticker, ''), coalesce(fund_classes.name, ''))

-- name: fund_classes_of_series
SELECT class_id, series_id, series_name, cik, name, ticker FROM fund_classes WHERE series_id = :series_id ORDER BY class_id

-- name: fund_classes_of_ticker
SELECT class_id, series_id, cik FROM fund_classes WHERE ticker = :ticker ORDER BY filed_at DESC, class_id

-- name: has_fund_reports
SELECT EXISTS (SELECT 1 FROM fund_reports WHERE fund_id = :fund_id)

-- name: reporting_fund
SELECT fund_id, cik, coalesce(series_name, registrant_name) AS name
FROM fund_reports
WHERE fund_id = :fund_id
ORDER BY period DESC, filed_at DESC, accession DESC
LIMIT 1
