-- name: funds_uncounted
SELECT cik, period FROM funds_uncounted ORDER BY cik

-- name: fund_uncounted
SELECT 1 FROM funds_uncounted WHERE cik = :cik

-- name: clear_funds_uncounted
DELETE FROM funds_uncounted

-- name: whole_quarters_of_fund
SELECT period, complete FROM fund_quarters WHERE cik = :cik ORDER BY period

-- name: costs_of_quarter
SELECT security_id, status, shares, value, previous_shares, flow, cost, opened, changed
FROM positions
WHERE cik = :cik AND period = :period AND kind = 0

-- name: set_costs
UPDATE positions SET cost = ?, opened = ?, changed = ? WHERE cik = ? AND period = ? AND kind = 0 AND security_id = ?

-- name: splits_since
SELECT security_splits.security_id, factor, source, date, after, until
FROM positions
JOIN security_splits ON security_splits.security_id = positions.security_id
WHERE positions.cik = :cik AND positions.period = :period AND kind = 0 AND until > :period
ORDER BY until, factor

-- name: positions_with_costs
-- With the last close after the quarter's end, where one is held, and the change of the last quarter with one.
SELECT positions.security_id, cusip, securities.ticker, holding_names.issuer AS name, positions.shares AS shares_raw,
    positions.value, positions.cost, positions.opened, positions.changed, sic_group,
    last.shares - last.previous_shares AS last_share_delta,
    latest.date AS close_date, latest.close
FROM positions
JOIN securities ON securities.id = positions.security_id
JOIN holding_names ON holding_names.id = positions.name_id
LEFT JOIN positions AS last ON last.cik = positions.cik AND last.period = positions.changed AND last.kind = 0
    AND last.security_id = positions.security_id
LEFT JOIN price_series ON price_series.ticker = securities.ticker AND NOT price_series.synthetic
LEFT JOIN prices AS latest ON latest.series_id = price_series.id AND latest.date = (
    SELECT max(date) FROM prices WHERE prices.series_id = price_series.id AND prices.date > positions.period
)
WHERE positions.cik = :cik AND positions.period = :period AND positions.kind = 0 AND positions.status <> 5
