-- Webhooks: what an account is to be told, every attempt to tell it, and the secrets that sign it.

-- A secret is derived from the master secret over the row's uuid; the fingerprint tells by which master secret.
-- The one before it goes on signing beside it until previous_until.
CREATE TABLE webhook_secrets (
    user_id              INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    uuid                 TEXT NOT NULL,
    fingerprint          BLOB NOT NULL,
    previous_uuid        TEXT,
    previous_fingerprint BLOB,
    previous_until       TEXT,
    created_at           TEXT NOT NULL,
    CHECK ((previous_uuid IS NULL) = (previous_until IS NULL)),
    CHECK ((previous_uuid IS NULL) = (previous_fingerprint IS NULL))
) STRICT;

-- The outbox. A row is written in the transaction that caused it, and is due until it is delivered or dropped.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY,
    delivery_id TEXT NOT NULL UNIQUE,
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    event_type  TEXT NOT NULL CHECK (event_type <> ''),
    target_id   TEXT,
    -- The JSON that is sent, the same bytes at every attempt.
    body        TEXT NOT NULL,
    url         TEXT NOT NULL,
    -- The receiver's host and port: deliveries to one wait for one another, and for nobody else.
    lane        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'retry_pending', 'delivered', 'dropped')),
    -- Attempts made in all, and those that failed since it was last put into the queue.
    attempts    INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    failures    INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    -- When it is to be sent next; while it is being sent, when that is taken to have come to nothing.
    due_at      TEXT,
    created_at  TEXT NOT NULL,
    done_at     TEXT,
    last_status INTEGER,
    last_error  TEXT,
    CHECK ((state IN ('delivered', 'dropped')) = (done_at IS NOT NULL)),
    CHECK ((done_at IS NULL) = (due_at IS NOT NULL))
) STRICT;

CREATE INDEX deliveries_due ON deliveries (lane, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_soonest ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_user ON deliveries (user_id, id);
CREATE INDEX deliveries_dropped ON deliveries (user_id, done_at) WHERE state = 'dropped';
CREATE INDEX deliveries_done ON deliveries (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';

-- Written before the attempt is made; what a crash leaves without an end may or may not have arrived.
CREATE TABLE delivery_attempts (
    delivery      INTEGER NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL CHECK (number > 0),
    started_at    TEXT NOT NULL,
    ended_at      TEXT,
    took_ms       INTEGER,
    status        INTEGER,
    error         TEXT,
    response_body TEXT,
    PRIMARY KEY (delivery, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX users_with_topics ON users (id) WHERE webhook_topics <> '[]' AND webhook_url IS NOT NULL;

-- Sniper targets: a company that is watched for a filing, for a time.
CREATE TABLE sniper_targets (
    id                INTEGER PRIMARY KEY,
    target_id         TEXT NOT NULL UNIQUE,
    user_id           INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    cik               INTEGER NOT NULL REFERENCES companies (cik),
    ticker            TEXT NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('CREATED', 'ACTIVE', 'STOPPED')),
    resolution_reason TEXT CHECK (resolution_reason IN ('filing_hit', 'window_expired', 'manual_stop')),
    -- A JSON list; an empty one takes every form.
    form_types        TEXT NOT NULL,
    webhook_url       TEXT,
    start_time        TEXT NOT NULL,
    end_time          TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    stopped_at        TEXT,
    -- The filing that was hit, as it was known then.
    hit_accession     TEXT,
    hit_form          TEXT,
    hit_filed_at      TEXT,
    hit_url           TEXT,
    CHECK (start_time < end_time),
    CHECK ((state = 'STOPPED') = (resolution_reason IS NOT NULL)),
    CHECK ((state = 'STOPPED') = (stopped_at IS NOT NULL)),
    CHECK (coalesce(resolution_reason = 'filing_hit', 0) = (hit_accession IS NOT NULL))
) STRICT;

CREATE INDEX sniper_targets_by_user ON sniper_targets (user_id, id);
CREATE INDEX sniper_targets_watching ON sniper_targets (cik) WHERE state <> 'STOPPED';
CREATE INDEX sniper_targets_ending ON sniper_targets (end_time) WHERE state <> 'STOPPED';
CREATE INDEX sniper_targets_beginning ON sniper_targets (start_time) WHERE state = 'CREATED';
