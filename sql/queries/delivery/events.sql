-- name: next_seq
UPDATE feeds SET last_seq = last_seq + 1 WHERE name = :feed RETURNING last_seq

-- name: insert_event
INSERT INTO events (feed, seq, type, occurred_at, recorded_at, tickers, ciks, form_type, data)
VALUES (:feed, :seq, :type, :occurred_at, :now, :tickers, :ciks, :form_type, :data)

-- name: journal_epoch
SELECT epoch FROM journal

-- name: update_epoch
UPDATE journal SET epoch = :epoch

-- name: update_epoch_seq
UPDATE feeds SET epoch_seq = last_seq

-- name: update_first_epoch
UPDATE journal SET epoch = :epoch WHERE epoch = 1 AND NOT EXISTS (SELECT 1 FROM feeds WHERE last_seq > 0)

-- name: event_span
SELECT last_seq, coalesce((SELECT min(seq) FROM events WHERE events.feed = feeds.name), last_seq + 1) AS first_seq,
    (SELECT epoch FROM journal) AS epoch, epoch_seq
FROM feeds
WHERE name = :feed

-- name: events_after
SELECT feed, (SELECT epoch FROM journal) AS epoch, seq, type, occurred_at, tickers, ciks, form_type, data
FROM events
WHERE feed = :feed AND seq > :seq
ORDER BY seq
LIMIT :limit OFFSET :offset

-- name: events_before
SELECT feed, (SELECT epoch FROM journal) AS epoch, seq, type, occurred_at, tickers, ciks, form_type, data
FROM events
WHERE feed = :feed AND seq < :seq
ORDER BY seq DESC
LIMIT :limit

-- name: delete_old_events
-- The oldest events, but never the newest few: a reader that connects is sent those.
DELETE FROM events
WHERE feed = :feed AND seq IN (
    SELECT seq FROM events
    WHERE feed = :feed
        AND (seq <= (SELECT last_seq FROM feeds WHERE name = :feed) - :count
            OR (recorded_at < :before AND seq <= (SELECT last_seq FROM feeds WHERE name = :feed) - :least))
    ORDER BY seq
    LIMIT :limit
)
