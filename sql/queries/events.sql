-- name: next_seq
UPDATE feeds SET last_seq = last_seq + 1 WHERE name = :feed RETURNING last_seq

-- name: insert_event
INSERT INTO events (feed, seq, type, occurred_at, recorded_at, tickers, ciks, form_type, data)
VALUES (:feed, :seq, :type, :occurred_at, :now, :tickers, :ciks, :form_type, :data)

-- name: event_span
SELECT last_seq, coalesce((SELECT min(seq) FROM events WHERE events.feed = feeds.name), last_seq + 1) AS first_seq
FROM feeds
WHERE name = :feed

-- name: events_after
SELECT seq, type, occurred_at, tickers, ciks, form_type, data
FROM events
WHERE feed = :feed AND seq > :seq
ORDER BY seq
LIMIT :limit

-- name: events_before
SELECT seq, type, occurred_at, tickers, ciks, form_type, data
FROM events
WHERE feed = :feed AND seq < :seq
ORDER BY seq DESC
LIMIT :limit

-- name: drop_old_events
-- Never the newest few, however old they are: a reader who connects is told of them.
DELETE FROM events
WHERE feed = :feed
    AND (seq <= (SELECT last_seq FROM feeds WHERE name = :feed) - :count
        OR (recorded_at < :before AND seq <= (SELECT last_seq FROM feeds WHERE name = :feed) - :least))
