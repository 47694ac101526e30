-- name: quarters_of_any_fund
-- From one to the next by the index.
WITH RECURSIVE held (period) AS (
    SELECT max(period) FROM fund_quarters
    UNION ALL
    SELECT (SELECT max(period) FROM fund_quarters WHERE period < held.period) FROM held WHERE held.period IS NOT NULL
)
SELECT period FROM held WHERE period IS NOT NULL

-- name: returned_quarters
SELECT period FROM returned_quarters

-- name: begin_returned_quarter
INSERT INTO returned_quarters (period, due) VALUES (:period, 0)

-- name: count_all_series
UPDATE price_series SET counted = -1

-- name: series_uncounted
-- Made up prices say nothing of what a fund's shares returned.
SELECT id, ticker, iif(synthetic, 'synthetic', 'csv') AS source, changed, acted
FROM price_series
WHERE changed <> counted

-- name: returns_of_series
SELECT period, earned, adjusted FROM quarter_returns WHERE series_id = :id

-- name: remove_quarter_return
DELETE FROM quarter_returns WHERE series_id = ? AND period = ?

-- name: insert_quarter_return
INSERT INTO quarter_returns (series_id, period, earned, adjusted) VALUES (?, ?, ?, ?)

-- name: series_counted
UPDATE price_series SET counted = changed WHERE id = :id

-- name: quarters_due
SELECT period FROM returned_quarters WHERE due ORDER BY period

-- name: quarter_counted
UPDATE returned_quarters SET due = 0 WHERE period = :period

-- name: funds_of_quarter
SELECT cik FROM fund_quarters WHERE period = :period AND complete

-- name: remove_fund_returns
DELETE FROM fund_returns WHERE cik = :cik AND period > :since

-- name: put_fund_return
INSERT OR REPLACE INTO fund_returns (period, cik, holdings, value, priced, unadjusted, gain, best, worst)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: shares_held
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
SELECT max(period) FROM fund_returns WHERE priced > 0

-- name: latest_quarter_of_returns
SELECT max(period) FROM fund_returns

-- name: fund_return_of_quarter
SELECT 1 FROM fund_returns WHERE period = :period LIMIT 1

-- name: funds_with_returns
SELECT count(*) AS funds,
    count(*) FILTER (WHERE holdings >= :min_holdings AND value >= :min_aum) AS eligible
FROM fund_returns
WHERE period = :period

-- name: funds_by_return
SELECT *, count(*) OVER () AS total
FROM (
    SELECT CASE WHEN earned IS NOT NULL THEN row_number() OVER (ORDER BY earned DESC NULLS LAST, value DESC, cik) END
        AS rank, *
    FROM (
        SELECT fund_returns.cik AS number, printf('%010d', fund_returns.cik) AS cik, funds.name AS company_name,
            value, value AS portfolio_value, holdings AS holdings_count, priced, unadjusted, gain, best, worst,
            CASE WHEN priced > 0 AND priced * 100 >= value * :least THEN gain * 1.0 / priced END AS earned
        FROM fund_returns
        JOIN funds ON funds.cik = fund_returns.cik
        WHERE period = :period AND holdings >= :min_holdings AND value >= :min_aum
    )
)
WHERE (:cik IS NULL OR number = :cik) AND (NOT :has_returns OR earned IS NOT NULL)
    AND (:words IS NULL OR :words <> '[]' AND NOT EXISTS (
        SELECT 1 FROM json_each(:words) AS wanted
        WHERE NOT EXISTS (
            SELECT 1 FROM fund_words
            WHERE fund_words.cik = number AND word >= wanted.value AND word < wanted.value || char(65535)
        )
    ))
ORDER BY
    CASE :sort_by WHEN 'portfolio_return_pct' THEN earned WHEN 'portfolio_value' THEN value
        WHEN 'holdings_count' THEN holdings_count WHEN 'price_coverage_pct' THEN priced * 1.0 / value END * :direction
        NULLS LAST,
    value DESC, number
LIMIT :limit OFFSET :offset
