-- name: splits_of_ticker
SELECT date, value
FROM price_actions
JOIN price_series ON price_series.id = price_actions.series_id AND NOT price_series.synthetic
WHERE price_series.ticker = :ticker AND price_actions.kind = 'split'
ORDER BY date DESC

-- name: splits_of_security
SELECT factor, source, date, after, until
FROM security_splits
WHERE security_id = :security_id
ORDER BY until DESC, factor

-- name: splits_of_quarter
-- No split's range of days is longer than two years (share_splits.MAX_RANGE_DAYS), so the index on until is enough.
SELECT security_id, factor, source, date, after, until
FROM security_splits
WHERE until > :before AND until < date(:period, '+2 years') AND after < :period
ORDER BY security_id, until, factor

-- name: filed_splits
SELECT factor, date, after, until, accession FROM filed_splits WHERE cik = :cik ORDER BY until, factor

-- name: delete_filed_splits
DELETE FROM filed_splits WHERE cik = :cik

-- name: insert_filed_splits
INSERT INTO filed_splits (cik, factor, date, after, until, accession) VALUES (?, ?, ?, ?, ?, ?)
