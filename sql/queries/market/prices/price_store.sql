-- name: known_tickers
SELECT value AS ticker FROM json_each(:words)
WHERE EXISTS (SELECT 1 FROM tickers WHERE ticker = value) OR EXISTS (SELECT 1 FROM price_series WHERE ticker = value)

-- name: insert_price_series
INSERT INTO price_series (ticker, synthetic) VALUES (:ticker, :synthetic)

-- name: delete_price_series
DELETE FROM price_series WHERE id = :id

-- name: mark_series_has_actions
UPDATE price_series SET acted = 1 WHERE id = :id AND NOT acted

-- name: increment_change_count
UPDATE price_series SET changed = changed + 1 WHERE id = :id

-- name: stored_prices
SELECT date, open, high, low, close, volume, adj_close, vintage FROM prices
WHERE series_id = :series_id AND date BETWEEN :first AND :last

-- name: stored_actions
SELECT date, kind, value, vintage FROM price_actions WHERE series_id = :series_id

-- name: upsert_prices
INSERT INTO prices (series_id, date, open, high, low, close, volume, adj_close, vintage)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close,
    volume = excluded.volume, adj_close = excluded.adj_close, vintage = excluded.vintage, doubt = NULL

-- name: upsert_price_actions
INSERT OR REPLACE INTO price_actions (series_id, date, kind, value, vintage) VALUES (?, ?, ?, ?, ?)
