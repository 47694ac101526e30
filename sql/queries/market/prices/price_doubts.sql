-- name: days_around
-- The days from :first to :last, and up to :neighbours days before and after them, oldest first.
SELECT date, high, low, close, doubt FROM (
    SELECT date, high, low, close, doubt FROM (
        SELECT date, high, low, close, doubt FROM prices WHERE series_id = :series_id AND date < :first
        ORDER BY date DESC LIMIT :neighbours
    )
    UNION ALL
    SELECT date, high, low, close, doubt FROM prices WHERE series_id = :series_id AND date BETWEEN :first AND :last
    UNION ALL
    SELECT date, high, low, close, doubt FROM (
        SELECT date, high, low, close, doubt FROM prices WHERE series_id = :series_id AND date > :last
        ORDER BY date LIMIT :neighbours
    )
)
ORDER BY date

-- name: update_doubt
UPDATE prices SET doubt = ? WHERE series_id = ? AND date = ?
