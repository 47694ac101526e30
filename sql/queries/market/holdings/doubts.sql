-- name: securities_unpriced
SELECT due.period, due.security_id, coalesce(funds, 0) AS funds, price
FROM (SELECT period, security_id FROM securities_unpriced LIMIT :limit) AS due
LEFT JOIN security_quarters AS quarter ON quarter.period = due.period AND quarter.security_id = due.security_id

-- name: worth_to_managers
SELECT value, shares
FROM positions
WHERE security_id = :security_id AND period = :period AND kind = 0 AND status <> 5 AND shares > 0 AND value > 0
ORDER BY value DESC, cik
LIMIT 25

-- name: set_agreed_price
UPDATE security_quarters SET price = ? WHERE period = ? AND security_id = ?

-- name: security_priced
DELETE FROM securities_unpriced WHERE period = ? AND security_id = ?

-- name: mark_security_unpriced
INSERT OR IGNORE INTO securities_unpriced (period, security_id) VALUES (?, ?)

-- name: positions_far_off
SELECT positions.security_id, ticker, positions.value, positions.shares, quarter.price
FROM positions
CROSS JOIN security_quarters AS quarter ON quarter.period = positions.period
    AND quarter.security_id = positions.security_id
CROSS JOIN securities ON securities.id = positions.security_id
WHERE positions.cik = :cik AND positions.period = :period AND positions.kind = 0 AND positions.status <> 5
    AND positions.shares > 0 AND positions.value > 0
    AND positions.value NOT BETWEEN quarter.price * positions.shares / :far AND quarter.price * positions.shares * :far

-- name: splits_near
SELECT factor FROM security_splits WHERE security_id = :security_id AND until > :after AND after < :before
