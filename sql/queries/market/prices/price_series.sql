-- name: series_of_ticker
SELECT id, ticker, iif(synthetic, 'synthetic', 'csv') AS source, changed, acted FROM price_series WHERE ticker = :ticker

-- name: price_days
SELECT date, open, high, low, close, volume, adj_close,
    (SELECT value FROM price_actions AS split
        WHERE split.series_id = prices.series_id AND split.date = prices.date AND split.kind = 'split') AS split_factor,
    (SELECT value FROM price_actions AS paid
        WHERE paid.series_id = prices.series_id AND paid.date = prices.date AND paid.kind = 'dividend') AS dividend,
    doubt AS price_doubt
FROM prices
WHERE series_id = :series_id AND date >= :first AND date <= :last
ORDER BY date DESC
LIMIT :limit OFFSET :offset

-- name: actions_with_closes
-- All splits and dividends, each with the last close before its day and the first close on or after it.
SELECT date, kind, value,
    (SELECT close FROM prices WHERE prices.series_id = price_actions.series_id AND prices.date < price_actions.date
        ORDER BY prices.date DESC LIMIT 1) AS before,
    (SELECT close FROM prices WHERE prices.series_id = price_actions.series_id AND prices.date >= price_actions.date
        ORDER BY prices.date LIMIT 1) AS after
FROM price_actions
WHERE series_id = :series_id
ORDER BY date, kind

-- name: last_close
-- A close a hundred times too high or low would make every ratio of its day wrong.
SELECT date, close FROM prices
WHERE series_id = :series_id AND date <= :day AND doubt IS NOT 'hundredfold_jump'
ORDER BY date DESC LIMIT 1
