-- name: price_series
SELECT id, ticker, iif(synthetic, 'synthetic', 'csv') AS source, changed, acted FROM price_series WHERE ticker = :ticker

-- name: insert_series
INSERT INTO price_series (ticker, synthetic) VALUES (:ticker, :synthetic)

-- name: prices_changed
UPDATE price_series SET changed = changed + 1 WHERE id = :id

-- name: series_acted
UPDATE price_series SET acted = 1 WHERE id = :id AND NOT acted

-- name: known_tickers
SELECT value AS ticker FROM json_each(:words)
WHERE EXISTS (SELECT 1 FROM tickers WHERE ticker = value) OR EXISTS (SELECT 1 FROM price_series WHERE ticker = value)

-- name: delete_series
DELETE FROM price_series WHERE id = :id

-- name: held_prices
SELECT date, open, high, low, close, volume, adj_close, vintage FROM prices
WHERE series_id = :series_id AND date BETWEEN :first AND :last

-- name: held_actions
SELECT date, kind, value, vintage FROM price_actions WHERE series_id = :series_id

-- name: put_prices
INSERT INTO prices (series_id, date, open, high, low, close, volume, adj_close, vintage)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    volume = excluded.volume, adj_close = excluded.adj_close, vintage = excluded.vintage

-- name: put_actions
INSERT OR REPLACE INTO price_actions (series_id, date, kind, value, vintage) VALUES (?, ?, ?, ?, ?)

-- name: prices_page
SELECT date, open, high, low, close, volume, adj_close,
    (SELECT value FROM price_actions AS split
        WHERE split.series_id = prices.series_id AND split.date = prices.date AND split.kind = 'split') AS split_factor,
    (SELECT value FROM price_actions AS paid
        WHERE paid.series_id = prices.series_id AND paid.date = prices.date AND paid.kind = 'dividend') AS dividend
FROM prices
WHERE series_id = :series_id AND date >= :first AND date <= :last
ORDER BY date DESC
LIMIT :limit OFFSET :offset

-- name: price_actions
-- Every split and dividend, with the close of the day itself (or the next one traded) and of the last day before.
SELECT date, kind, value,
    (SELECT close FROM prices WHERE prices.series_id = price_actions.series_id AND prices.date < price_actions.date
        ORDER BY prices.date DESC LIMIT 1) AS before,
    (SELECT close FROM prices WHERE prices.series_id = price_actions.series_id AND prices.date >= price_actions.date
        ORDER BY prices.date LIMIT 1) AS after
FROM price_actions
WHERE series_id = :series_id
ORDER BY date, kind

-- name: close_before
SELECT date, close FROM prices WHERE series_id = :series_id AND date <= :day ORDER BY date DESC LIMIT 1

-- part: closes
(SELECT json_array(date, close, adj_close) FROM prices WHERE series_id = asked.value ->> 0 AND date

-- name: closes_around
-- The last close up to a day and those so many days of trading later, each as its date, close and adjusted close.
SELECT asked.value ->> 0 AS series_id, asked.value ->> 1 AS day,
    {closes} <= asked.value ->> 1 ORDER BY date DESC LIMIT 1) AS after_0,
    {closes} > asked.value ->> 1 ORDER BY date LIMIT 1 OFFSET 0) AS after_1,
    {closes} > asked.value ->> 1 ORDER BY date LIMIT 1 OFFSET 4) AS after_5,
    {closes} > asked.value ->> 1 ORDER BY date LIMIT 1 OFFSET 19) AS after_20,
    {closes} > asked.value ->> 1 ORDER BY date LIMIT 1 OFFSET 59) AS after_60
FROM json_each(:asked) AS asked

-- name: closes_of_spans
-- The last close up to each end of some spans of days, each as its date, close and adjusted close.
SELECT span.value ->> 0 AS first, span.value ->> 1 AS last,
    (SELECT json_array(date, close, adj_close) FROM prices
        WHERE series_id = :series_id AND date <= span.value ->> 0 ORDER BY date DESC LIMIT 1) AS at_first,
    (SELECT json_array(date, close, adj_close) FROM prices
        WHERE series_id = :series_id AND date <= span.value ->> 1 ORDER BY date DESC LIMIT 1) AS at_last
FROM json_each(:spans) AS span
