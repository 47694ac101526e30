-- name: quarters_with_funds
-- One look-up in the index for each quarter. A DISTINCT query would read every row.
WITH RECURSIVE held (period) AS (
    SELECT max(period) FROM fund_quarters
    UNION ALL
    SELECT (SELECT max(period) FROM fund_quarters WHERE period < held.period) FROM held WHERE held.period IS NOT NULL
)
SELECT period FROM held WHERE period IS NOT NULL

-- name: returned_quarters
SELECT period FROM returned_quarters

-- name: insert_returned_quarter
INSERT INTO returned_quarters (period, due) VALUES (:period, 0)

-- name: update_all_series_as_uncounted
UPDATE price_series SET counted = -1

-- name: uncounted_series
-- Synthetic series are included, so that returns of former real prices are deleted.
SELECT id, ticker, iif(synthetic, 'synthetic', 'csv') AS source, changed, acted
FROM price_series
WHERE changed <> counted
LIMIT :limit

-- name: returns_of_series
SELECT period, earned, adjusted FROM quarter_returns WHERE series_id = :id

-- name: delete_quarter_return
DELETE FROM quarter_returns WHERE series_id = ? AND period = ?

-- name: insert_quarter_return
INSERT INTO quarter_returns (series_id, period, earned, adjusted) VALUES (?, ?, ?, ?)

-- name: update_series_as_counted
UPDATE price_series SET counted = changed WHERE id = :id

-- name: due_quarter
-- ``first`` is the CIK of the first fund that is due.
SELECT period, due AS first FROM returned_quarters WHERE due ORDER BY period LIMIT 1

-- name: update_due_quarter
UPDATE returned_quarters SET due = :first WHERE period = :period

-- name: fund_return_due
SELECT due BETWEEN 1 AND :cik FROM returned_quarters WHERE period = :period

-- name: complete_funds_of_quarter
SELECT funds.cik, positions
FROM funds
CROSS JOIN fund_quarters ON fund_quarters.cik = funds.cik AND fund_quarters.period = :period AND complete
WHERE funds.cik >= :first
ORDER BY funds.cik
LIMIT :limit

-- name: delete_fund_return
DELETE FROM fund_returns WHERE cik = :cik AND period = :period

-- name: delete_fund_returns
DELETE FROM fund_returns WHERE cik = :cik AND period > :since AND period <= :until

-- name: upsert_fund_return
INSERT OR REPLACE INTO fund_returns (period, cik, holdings, value, priced, unadjusted, gain, best, worst)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: share_position_totals
SELECT count(*) AS holdings, coalesce(sum(value), 0) AS value
FROM positions
WHERE cik = :cik AND period = :period AND kind = 0 AND status <> 5

-- name: returns_of_positions
SELECT securities.ticker, positions.value, earned, adjusted
FROM positions
CROSS JOIN securities ON securities.id = positions.security_id
CROSS JOIN price_series ON price_series.ticker = securities.ticker
CROSS JOIN quarter_returns ON quarter_returns.series_id = price_series.id AND quarter_returns.period = :period
WHERE positions.cik = :cik AND positions.period = :before AND positions.kind = 0 AND positions.status <> 5

-- name: latest_priced_quarter
SELECT max(period) FROM fund_returns
WHERE priced > 0 AND period <= (SELECT max(period) FROM fund_quarters WHERE is_early = 0)

-- name: latest_quarter_of_returns
SELECT max(period) FROM fund_returns
WHERE period <= (SELECT max(period) FROM fund_quarters WHERE is_early = 0)

-- name: fund_return_of_quarter
SELECT 1 FROM fund_returns WHERE period = :period LIMIT 1

-- name: fund_return_counts
SELECT count(*) AS funds,
    count(*) FILTER (WHERE holdings >= :min_holdings AND value >= :min_aum) AS eligible
FROM fund_returns INDEXED BY fund_returns_by_return
WHERE period = :period

-- name: funds_by_return
-- All funds are sorted by the index alone. The other columns are read for the funds of the page only.
SELECT rank, printf('%010d', number) AS cik, funds.name AS company_name, page.value AS portfolio_value,
    page.holdings AS holdings_count, page.priced, unadjusted, gain, best, worst, total
FROM (
    SELECT *, count(*) OVER () AS total,
        CASE :sort_by WHEN 'portfolio_return_pct' THEN earned WHEN 'portfolio_value' THEN value
            WHEN 'holdings_count' THEN holdings WHEN 'price_coverage_pct' THEN priced * 1.0 / value END * :direction
            AS place
    FROM (
        SELECT cik AS number, value, holdings, priced, earned,
            CASE WHEN earned IS NOT NULL THEN row_number() OVER (ORDER BY earned DESC, value DESC, cik) END AS rank
        FROM fund_returns INDEXED BY fund_returns_by_return
        WHERE period = :period AND holdings >= :min_holdings AND value >= :min_aum
    )
    WHERE (:cik IS NULL OR number = :cik) AND (NOT :has_returns OR earned IS NOT NULL)
        AND (:words IS NULL OR :words <> '[]' AND NOT EXISTS (
            SELECT 1 FROM json_each(:words) AS wanted
            WHERE NOT EXISTS (
                SELECT 1 FROM fund_words
                WHERE fund_words.cik = number AND word >= wanted.value AND word < wanted.value || char(65535)
            )
        ))
    ORDER BY place NULLS LAST, value DESC, number
    LIMIT :limit OFFSET :offset
) AS page
CROSS JOIN fund_returns ON fund_returns.period = :period AND fund_returns.cik = number
CROSS JOIN funds ON funds.cik = number
ORDER BY place NULLS LAST, page.value DESC, number
