-- name: splits_of_ticker
SELECT date, CAST(value AS REAL) AS ratio, value
FROM price_actions
JOIN price_series ON price_series.id = price_actions.series_id AND NOT price_series.synthetic
WHERE price_series.ticker = :ticker AND price_actions.kind = 'split'
ORDER BY date DESC

-- name: splits_of_quarter
SELECT securities.id, action.value
FROM price_actions AS action
JOIN price_series ON price_series.id = action.series_id AND NOT price_series.synthetic
JOIN securities ON securities.ticker = price_series.ticker
WHERE action.kind = 'split' AND action.date > :before AND action.date <= :period
ORDER BY securities.id, action.date
