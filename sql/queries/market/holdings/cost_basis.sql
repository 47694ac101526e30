-- name: next_uncounted_fund
SELECT cik, period FROM funds_uncounted ORDER BY cik LIMIT 1

-- name: uncounted_fund
SELECT 1 FROM funds_uncounted WHERE cik = :cik

-- name: delete_uncounted_fund
DELETE FROM funds_uncounted WHERE cik = :cik

-- name: update_uncounted_fund
UPDATE funds_uncounted SET period = :period WHERE cik = :cik

-- name: quarters_of_fund_since
SELECT period, complete FROM fund_quarters WHERE cik = :cik AND period >= :period ORDER BY period LIMIT 2

-- name: costs_of_quarter
SELECT security_id, status, shares, value, previous_shares, flow, cost, opened, changed
FROM positions
WHERE cik = :cik AND period = :period AND kind = 0

-- name: update_position_costs
UPDATE positions SET cost = ?, opened = ?, changed = ? WHERE cik = ? AND period = ? AND kind = 0 AND security_id = ?

-- name: splits_since
SELECT security_splits.security_id, factor, source, date, after, until
FROM positions
JOIN security_splits ON security_splits.security_id = positions.security_id
WHERE positions.cik = :cik AND positions.period = :period AND kind = 0 AND until > :period
ORDER BY until, factor

-- name: positions_to_value
-- ``close`` is the day and the price of the last stored close after the quarter's end, or null. ``text`` is the ticker
-- or the name if the list is sorted by it.
SELECT positions.security_id, cusip,
    CASE :sort WHEN 'ticker' THEN securities.ticker
        WHEN 'name' THEN (SELECT issuer FROM holding_names WHERE holding_names.id = name_id) END AS text,
    shares, value, cost, opened,
    (SELECT prices.date || ' ' || prices.close FROM prices
        WHERE prices.series_id = price_series.id AND prices.date > :period ORDER BY prices.date DESC LIMIT 1) AS close
FROM positions
CROSS JOIN securities ON securities.id = positions.security_id
LEFT JOIN price_series ON price_series.ticker = securities.ticker AND NOT price_series.synthetic
WHERE positions.cik = :cik AND positions.period = :period AND positions.kind = 0 AND positions.status <> 5

-- name: positions_with_costs
-- ``last_share_delta`` is the change in shares of the latest quarter that changed the position.
SELECT positions.security_id, cusip, securities.ticker, holding_names.issuer AS name, positions.shares AS shares_raw,
    positions.changed, sic_group, last.shares - last.previous_shares AS last_share_delta
FROM json_each(:securities) AS wanted
CROSS JOIN positions ON positions.cik = :cik AND positions.period = :period AND positions.kind = 0
    AND positions.security_id = wanted.value
CROSS JOIN securities ON securities.id = positions.security_id
CROSS JOIN holding_names ON holding_names.id = positions.name_id
LEFT JOIN positions AS last ON last.cik = positions.cik AND last.period = positions.changed AND last.kind = 0
    AND last.security_id = positions.security_id
