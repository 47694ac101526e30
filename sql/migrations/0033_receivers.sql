-- A receiver that fails stands by itself: its lane is the account's and the URL's ("host:port user hash").

-- What was queued before waits by account and host.
UPDATE deliveries SET lane = lane || ' ' || user_id WHERE due_at IS NOT NULL;

-- Sent again because the account asked for it, or a test: a URL that rests is tried for these.
ALTER TABLE deliveries ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;

-- Retries stand before first attempts, so that a long queue does not put off what it has begun.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (lane, failures = 0, due_at, id) WHERE due_at IS NOT NULL;

-- Receivers whose last deliveries were all dropped; one that is delivered takes the row away.
CREATE TABLE failing_receivers (
    id         INTEGER PRIMARY KEY,
    lane       TEXT NOT NULL UNIQUE,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- In a row, and when the last was.
    dropped    INTEGER NOT NULL CHECK (dropped > 0),
    dropped_at TEXT NOT NULL,
    -- When the account was told by mail.
    told_at    TEXT
) STRICT;

CREATE INDEX failing_receivers_by_user ON failing_receivers (user_id, told_at);
CREATE INDEX failing_receivers_by_time ON failing_receivers (dropped_at);
