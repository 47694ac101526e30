-- name: unpriced_securities
-- ``largest`` is a JSON list of the value and shares of the largest positions; it is empty if too few managers hold the
-- security.
SELECT due.period, due.security_id, price,
    iif(funds > :least, (
        SELECT json_group_array(json_array(value, shares))
        FROM (
            SELECT value, shares
            FROM positions
            WHERE positions.security_id = due.security_id AND positions.period = due.period AND kind = 0
                AND status <> 5 AND shares > 0 AND value > 0
            ORDER BY value DESC, cik
            LIMIT 25
        )
    ), '[]') AS largest
FROM (SELECT period, security_id FROM securities_unpriced ORDER BY period, security_id LIMIT :limit) AS due
LEFT JOIN security_quarters AS quarter ON quarter.period = due.period AND quarter.security_id = due.security_id

-- name: update_agreed_price
UPDATE security_quarters SET price = ? WHERE period = ? AND security_id = ?

-- name: delete_unpriced_securities
-- The first portion of the due securities: all up to this one.
DELETE FROM securities_unpriced WHERE (period, security_id) <= (:period, :security_id)

-- name: insert_unpriced_securities
INSERT OR IGNORE INTO securities_unpriced (period, security_id)
SELECT :period, value FROM json_each(:securities)

-- name: delete_far_off_positions_of_security
DELETE FROM positions_far_off WHERE period = ? AND security_id = ?

-- name: insert_far_off_positions_of_securities
INSERT INTO positions_far_off (period, security_id, cik)
SELECT quarter.period, quarter.security_id, positions.cik
FROM json_each(:places) AS place
CROSS JOIN security_quarters AS quarter ON quarter.period = place.value ->> 0
    AND quarter.security_id = place.value ->> 1
CROSS JOIN positions ON positions.security_id = quarter.security_id AND positions.period = quarter.period
    AND positions.kind = 0
CROSS JOIN holdings_reports AS report ON report.id = positions.report_id
WHERE status <> 5 AND positions.shares > 0 AND positions.value > 0
    AND (positions.value = positions.shares * report.value_unit
        OR positions.value NOT BETWEEN price * positions.shares / :far AND price * positions.shares * :far)

-- name: uncompared_fund_quarters
SELECT cik, period FROM fund_quarters_uncompared LIMIT :limit

-- name: delete_uncompared_fund_quarter
DELETE FROM fund_quarters_uncompared WHERE cik = ? AND period = ?

-- name: insert_uncompared_fund_quarter
INSERT OR IGNORE INTO fund_quarters_uncompared (cik, period) VALUES (:cik, :period)

-- name: delete_far_off_positions_of_fund
DELETE FROM positions_far_off WHERE cik = :cik AND period = :period

-- part: far_off_now
SELECT positions.period, positions.security_id, positions.cik
FROM positions
CROSS JOIN security_quarters AS quarter ON quarter.period = positions.period
    AND quarter.security_id = positions.security_id
CROSS JOIN holdings_reports AS report ON report.id = positions.report_id
WHERE positions.cik = :cik AND positions.period = :period AND positions.kind = 0 AND positions.status <> 5
    AND positions.shares > 0 AND positions.value > 0
    AND (positions.value = positions.shares * report.value_unit
        OR positions.value NOT BETWEEN quarter.price * positions.shares / :far
            AND quarter.price * positions.shares * :far)

-- name: insert_far_off_positions_of_fund
INSERT INTO positions_far_off (period, security_id, cik)
{far_off_now}

-- name: compared_fund_quarters_after
-- Only fund quarters whose positions have been compared since they last changed.
SELECT cik, period FROM fund_quarters
WHERE (cik, period) > (:cik, :period)
    AND NOT EXISTS (
        SELECT 1 FROM fund_quarters_uncompared AS due
        WHERE due.cik = fund_quarters.cik AND due.period = fund_quarters.period
    )
ORDER BY cik, period
LIMIT :limit

-- name: far_off_difference_count
SELECT count(*) FROM (
    SELECT security_id FROM ({far_off_now}
        UNION ALL SELECT period, security_id, cik FROM positions_far_off WHERE cik = :cik AND period = :period) AS both
    WHERE (period, security_id) NOT IN (SELECT period, security_id FROM securities_unpriced)
    GROUP BY security_id
    HAVING count(*) <> 2
)

-- part: far_off
-- Positions far from the agreed price, and those whose shares equal their value in the unit of the table. With the
-- splits near the quarter's end, and the flow if the position was closed in the next quarter.
SELECT positions.cik, positions.security_id, sic_group, security_group = 'ETFs' AS is_etf, ticker, positions.value,
    positions.shares, positions.flow, quarter.price, later.flow AS closed_flow,
    positions.value = positions.shares * report.value_unit AS has_equal_columns,
    (SELECT json_group_array(factor) FROM security_splits
        WHERE security_splits.security_id = far.security_id AND until > :after AND after < :before) AS splits,
    EXISTS (SELECT 1 FROM price_series WHERE price_series.ticker = securities.ticker AND NOT synthetic) AS is_priced
FROM positions_far_off AS far
CROSS JOIN positions ON positions.cik = far.cik AND positions.period = far.period AND positions.kind = 0
    AND positions.security_id = far.security_id AND positions.status <> 5 AND positions.shares > 0
CROSS JOIN holdings_reports AS report ON report.id = positions.report_id
CROSS JOIN security_quarters AS quarter ON quarter.period = far.period AND quarter.security_id = far.security_id
CROSS JOIN securities ON securities.id = far.security_id
LEFT JOIN positions AS later ON later.cik = far.cik AND later.period = :following AND later.kind = 0
    AND later.security_id = far.security_id AND later.status = 5
WHERE far.period = :period

-- name: far_off_positions_of_quarter
{far_off}

-- name: far_off_positions_of_fund
{far_off} AND far.cik = :cik

-- name: far_off_positions_of_securities
{far_off} AND far.security_id IN (SELECT value FROM json_each(:securities))
