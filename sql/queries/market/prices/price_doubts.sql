-- name: days_around
-- The days from :first to :last, and up to :neighbours + 1 days before and after them, oldest first.
SELECT date, high, low, close, doubt FROM prices
WHERE series_id = :series_id
    AND date >= coalesce((
        SELECT date FROM prices WHERE series_id = :series_id AND date < :first
        ORDER BY date DESC LIMIT 1 OFFSET :neighbours
    ), '')
    AND date <= coalesce((
        SELECT date FROM prices WHERE series_id = :series_id AND date > :last ORDER BY date LIMIT 1 OFFSET :neighbours
    ), '9999-12-31')
ORDER BY date

-- name: update_doubt
UPDATE prices SET doubt = ? WHERE series_id = ? AND date = ?
