-- What filings cause for accounts, written in the filing's own transaction and carried over after it: the two may live
-- in different stores. Numbers never come again, so that nobody takes off what another has put there.
CREATE TABLE outbox (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    accession   TEXT NOT NULL,
    -- An event's, a webhook's or that of a hit.
    type        TEXT NOT NULL,
    -- What tells it from others of its type about the filing.
    subject     TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    tickers     TEXT NOT NULL,
    ciks        TEXT NOT NULL,
    form_type   TEXT,
    data        TEXT NOT NULL,
    noted_at    TEXT NOT NULL
) STRICT;

-- What was carried over: nothing is twice.
CREATE TABLE carried (
    accession  TEXT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    carried_at TEXT NOT NULL,
    PRIMARY KEY (accession, type, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX carried_by_age ON carried (carried_at);

-- A target names a company of the other store: nothing but its number. Nothing refers to a target.
CREATE TABLE targets (
    id                INTEGER PRIMARY KEY,
    target_id         TEXT NOT NULL UNIQUE,
    user_id           INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    cik               INTEGER NOT NULL,
    ticker            TEXT NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('CREATED', 'ACTIVE', 'STOPPED')),
    resolution_reason TEXT CHECK (resolution_reason IN ('filing_hit', 'window_expired', 'manual_stop')),
    form_types        TEXT NOT NULL,
    webhook_url       TEXT,
    start_time        TEXT NOT NULL,
    end_time          TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    stopped_at        TEXT,
    hit_accession     TEXT,
    hit_form          TEXT,
    hit_filed_at      TEXT,
    hit_url           TEXT,
    CHECK (start_time < end_time),
    CHECK ((state = 'STOPPED') = (resolution_reason IS NOT NULL)),
    CHECK ((state = 'STOPPED') = (stopped_at IS NOT NULL)),
    CHECK (coalesce(resolution_reason = 'filing_hit', 0) = (hit_accession IS NOT NULL))
) STRICT;
INSERT INTO targets SELECT * FROM sniper_targets;
DROP TABLE sniper_targets;
ALTER TABLE targets RENAME TO sniper_targets;
CREATE INDEX sniper_targets_by_user ON sniper_targets (user_id, id);
CREATE INDEX sniper_targets_watching ON sniper_targets (cik) WHERE state <> 'STOPPED';
CREATE INDEX sniper_targets_ending ON sniper_targets (end_time) WHERE state <> 'STOPPED';
CREATE INDEX sniper_targets_beginning ON sniper_targets (start_time) WHERE state = 'CREATED';
