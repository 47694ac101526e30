-- What usage answers, as sums by day and endpoint; and rows of the ledger that leave it for an archive: what they add
-- up to stays as one row of each account.

-- AUTOINCREMENT: an id that was summed or archived must not come again. The row of what was carried over has the
-- account's id, negative: it is older than any other.
CREATE TABLE ledger_with_archive (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    delta      INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN
        ('debit', '4xx_refund', '5xx_refund', 'crash_refund', 'refill', 'purchase', 'grant', 'carried_over')),
    endpoint   TEXT,
    request_id TEXT,
    status     INTEGER,
    open       INTEGER NOT NULL DEFAULT 0 CHECK (open IN (0, 1)),
    created_at TEXT NOT NULL,
    CHECK ((reason = 'carried_over') = (id < 0))
) STRICT;
INSERT INTO ledger_with_archive (id, user_id, delta, reason, endpoint, request_id, status, open, created_at)
SELECT id, user_id, delta, reason, endpoint, request_id, status, open, created_at FROM ledger ORDER BY id;
DROP TABLE ledger;
ALTER TABLE ledger_with_archive RENAME TO ledger;
CREATE INDEX ledger_by_user ON ledger (user_id, id);
CREATE INDEX ledger_open ON ledger (open) WHERE open = 1;

-- Tokens kept and calls made of an endpoint on a UTC day, of the rows up to the one in ledger_summed.
CREATE TABLE ledger_days (
    user_id  INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day      TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    tokens   INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, endpoint)
) STRICT, WITHOUT ROWID;
CREATE INDEX ledger_days_by_day ON ledger_days (day);
CREATE TABLE ledger_summed (last_id INTEGER NOT NULL) STRICT;

INSERT INTO ledger_days (user_id, day, endpoint, tokens, calls)
SELECT user_id, substr(created_at, 1, 10) AS day, endpoint, -sum(delta), sum(reason = 'debit')
FROM ledger
WHERE endpoint IS NOT NULL
GROUP BY user_id, day, endpoint;
INSERT INTO ledger_summed (last_id) SELECT coalesce(max(id), 0) FROM ledger;

-- The last row that was there when a UTC day began. A clock that jumps makes a mark that comes late, and nothing else.
CREATE TABLE ledger_marks (
    day     TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_marks (day, last_id)
SELECT substr(created_at, 1, 10) AS day, min(id) - 1 FROM ledger GROUP BY day;

-- Files of rows that have left the ledger, or are about to: up to the newest one's last_id.
CREATE TABLE ledger_archives (
    last_id    INTEGER PRIMARY KEY,
    file       TEXT NOT NULL UNIQUE,
    rows       INTEGER NOT NULL CHECK (rows > 0),
    -- The newest created_at among the rows.
    last_at    TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
