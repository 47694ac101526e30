-- The schema of finapi's database: tables, indexes, triggers and views in order of subject.
--
-- Accounts (sections 1 to 5) may live in PostgreSQL instead: sql/postgres/schema.sql has the same tables. No query, no
-- trigger and no foreign key joins a table of accounts to one of market data (sections 6 to 18).
--
-- Conventions, where a column says nothing else:
--   *_at           an instant: ISO 8601 in UTC with milliseconds, 2026-01-31T12:00:00.000Z
--   *_date, date   a day: 2026-01-31. period is the last day of a quarter
--   *_day          a day as a number: days since 1970-01-01, 0 when unknown
--   cik            the SEC's Central Index Key of a company or person, as a number
--   accession      the SEC's accession number of a filing, with dashes: 0000320193-25-000079; or, for a document whose
--                  filing is not known yet, "unfiled-" and the beginning of its hash
--   uuid           the random part from which a credential is derived, with the master secret: rows alone open nothing
--   fingerprint    SHA-256 of a credential
--   is_*, has_*    0 or 1
--   body, packed   compressed by zlib
-- Decimal numbers are TEXT, exactly as the source writes them.
--
-- A database made by this file has schema version 1. Later versions are made by sql/migrations.


-- ==================================================================================================================
-- 1. Accounts and credentials
-- ==================================================================================================================

-- A user's account. A deleted account keeps its row, without personal data, because the ledger refers to it.
CREATE TABLE users (
    id              INTEGER PRIMARY KEY,
    uuid            TEXT NOT NULL UNIQUE,
    email           TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
    usertype        TEXT NOT NULL DEFAULT 'user' CHECK (usertype IN ('user', 'admin')),
    -- Argon2id hash in its encoded form. NULL: no login by password.
    password        TEXT,
    -- Number of times the user has chosen a password. Rehashing the same password does not count.
    password_serial INTEGER NOT NULL DEFAULT 0,
    verify_email    INTEGER NOT NULL DEFAULT 0 CHECK (verify_email IN (0, 1)),
    -- Part of the user's profile; has no effect.
    has_uat_access  INTEGER NOT NULL DEFAULT 0 CHECK (has_uat_access IN (0, 1)),
    billing_admin   INTEGER NOT NULL DEFAULT 1 CHECK (billing_admin IN (0, 1)),
    -- Balance of the wallet in US cents: the sum of the user's rows in wallet.
    credit_cents    INTEGER NOT NULL DEFAULT 0 CHECK (credit_cents >= 0),
    notify_email    INTEGER NOT NULL DEFAULT 1 CHECK (notify_email IN (0, 1)),
    notify_browser  INTEGER NOT NULL DEFAULT 1 CHECK (notify_browser IN (0, 1)),
    webhook_url     TEXT,
    -- JSON list of the event types sent to webhook_url.
    webhook_topics  TEXT NOT NULL DEFAULT '[]',
    -- Sessions at a time. NULL: the configured limit.
    device_limit    INTEGER CHECK (device_limit > 0),
    -- Set by the operator: neither key nor password opens the account.
    locked_at       TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    deleted_at      TEXT
) STRICT;

-- Users who receive webhooks.
CREATE INDEX users_with_topics ON users (id) WHERE webhook_topics <> '[]' AND webhook_url IS NOT NULL;

-- An API key; each user has one.
CREATE TABLE api_keys (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid        TEXT NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    -- Name of the master secret that the key was derived with; '' when that secret is unknown, NULL before the first
    -- check.
    made_with   TEXT,
    -- 1: the key is refused because its master secret was lost.
    refused     INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1))
) STRICT;

CREATE INDEX api_keys_by_secret ON api_keys (refused, made_with);

-- A login session of a user (a refresh token).
CREATE TABLE sessions (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    fingerprint BLOB NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    -- When an operator last confirmed an action of this session with the password.
    confirmed_at TEXT
) STRICT;

CREATE INDEX sessions_by_user ON sessions (user_id, id);

-- An invitation code for registration.
CREATE TABLE invites (
    id          INTEGER PRIMARY KEY,
    uuid        TEXT NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL UNIQUE,
    note        TEXT,
    created_at  TEXT NOT NULL,
    expires_at  TEXT,
    revoked_at  TEXT,
    used_at     TEXT,
    used_by     INTEGER REFERENCES users (id) ON DELETE SET NULL,
    -- As in api_keys.
    made_with   TEXT
) STRICT;

CREATE INDEX invites_by_secret ON invites (made_with) WHERE used_at IS NULL AND revoked_at IS NULL;

-- The pending email verification of a user. A new one replaces it.
CREATE TABLE verifications (
    -- AUTOINCREMENT, because queued mails refer to the id: it must never be given to another user's row.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

-- The pending password reset of a user. Using it deletes the row.
CREATE TABLE resets (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

-- A requested change of a user's email. Rows are deleted after 30 days.
CREATE TABLE email_changes (
    -- AUTOINCREMENT, because queued mails refer to the id.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    uuid       TEXT NOT NULL,
    -- Stored here because the notices go to the old address, also after the change.
    old_email  TEXT NOT NULL,
    new_email  TEXT NOT NULL CHECK (new_email = lower(new_email)),
    created_at TEXT NOT NULL,
    -- The end of the link that confirms. A later request, a new password and the confirmation end it earlier.
    expires_at TEXT NOT NULL,
    -- The end of the link by which the old address reverts the change. Until then no other account gets the old email.
    revert_until TEXT NOT NULL
) STRICT;

CREATE INDEX email_changes_by_user ON email_changes (user_id);
CREATE INDEX email_changes_by_time ON email_changes (created_at);
CREATE INDEX email_changes_by_old_email ON email_changes (old_email);

-- Consecutive failed logins for a submitted email address, kept across restarts.
CREATE TABLE login_failures (
    -- The first 16 bytes of the address's SHA-256.
    email    BLOB PRIMARY KEY,
    failures INTEGER NOT NULL CHECK (failures > 0),
    last_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failures_by_time ON login_failures (last_at);

-- An address that a user has logged in from.
CREATE TABLE login_addresses (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- A digest keyed with the master secret.
    address BLOB NOT NULL,
    last_at TEXT NOT NULL,
    PRIMARY KEY (user_id, address)
) STRICT, WITHOUT ROWID;

CREATE INDEX login_addresses_by_time ON login_addresses (last_at);

-- An administrative action, by page or on the command line, or an owner's revert of a changed email. Rows are never
-- changed or deleted.
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      TEXT NOT NULL,
    -- The administrator or owner. NULL: the command line.
    by_user INTEGER REFERENCES users (id),
    action  TEXT NOT NULL,
    -- The account concerned.
    subject INTEGER REFERENCES users (id),
    detail  TEXT NOT NULL,
    -- Where it was done: the client's address, or the system's user and the directory that the command was typed in.
    place   TEXT NOT NULL,
    -- Id of the submitted form, so that submitting it twice acts once.
    once    TEXT UNIQUE
) STRICT;

CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not changed');
END;

CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not changed');
END;

-- The stored answer of a call with an Idempotency-Key, replayed for 24 hours.
CREATE TABLE kept_answers (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    route      TEXT NOT NULL,
    key        TEXT NOT NULL,
    -- SHA-256 of the request's path and body.
    body       BLOB NOT NULL,
    -- The response, as stored by the route.
    answer     BLOB NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, route, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_answers_by_age ON kept_answers (created_at);

-- The end of the chain of a user's receipts (POST /api/v1/claims). The receipts themselves are not stored.
CREATE TABLE receipt_chains (
    user_id     INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- Number of receipts, which is the number of the last one.
    receipts    INTEGER NOT NULL CHECK (receipts > 0),
    -- SHA-256 of the last receipt, in hexadecimal.
    last_sha256 TEXT NOT NULL
) STRICT;


-- ==================================================================================================================
-- 2. Plans and tokens
-- ==================================================================================================================

-- A user's plan. The balance in tokens is total_limit_api - reach_limit_api.
CREATE TABLE userplans (
    id                 INTEGER PRIMARY KEY,
    user_id            INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    plan               TEXT NOT NULL CHECK (plan <> ''),
    status             TEXT NOT NULL DEFAULT 'active',
    -- Tokens of the period: the plan's quota and the tokens bought.
    total_limit_api    INTEGER NOT NULL CHECK (total_limit_api >= 0),
    -- Tokens spent of them.
    reach_limit_api    INTEGER NOT NULL DEFAULT 0 CHECK (reach_limit_api >= 0),
    current_period_end TEXT NOT NULL,
    created_at         TEXT NOT NULL,
    updated_at         TEXT NOT NULL,
    -- The part of total_limit_api that was bought or granted. It carries over to the next period and is spent after
    -- the quota.
    bought             INTEGER NOT NULL DEFAULT 0 CHECK (bought >= 0),
    -- Start of the first period. A monthly period that starts on the 31st ends on the 28th in February, and on the
    -- 31st again in March.
    anchor             TEXT NOT NULL DEFAULT '',
    CHECK (reach_limit_api <= total_limit_api)
) STRICT;

CREATE INDEX userplans_due ON userplans (current_period_end);

-- A change of a user's token balance. A debit is open until its call has been answered; debits that are open when the
-- server starts were interrupted by a crash and are refunded.
CREATE TABLE ledger (
    -- AUTOINCREMENT, because an id that was summed or archived must never be reused. The row that carries over a
    -- user's archived rows has the negative user id, so it sorts before all others.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Tokens added (positive) or spent (negative).
    delta      INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN
        ('debit', '4xx_refund', '5xx_refund', 'crash_refund', 'refill', 'purchase', 'grant', 'carried_over')),
    -- Path of the route that was called. NULL where no call caused the change.
    endpoint   TEXT,
    request_id TEXT,
    -- HTTP status of the answer.
    status     INTEGER,
    open       INTEGER NOT NULL DEFAULT 0 CHECK (open IN (0, 1)),
    created_at TEXT NOT NULL,
    CHECK ((reason = 'carried_over') = (id < 0))
) STRICT;

CREATE INDEX ledger_by_user ON ledger (user_id, id);

-- Tokens and calls of a user, endpoint and UTC day, summed over the ledger's rows up to ledger_summed.last_id.
CREATE TABLE ledger_days (
    user_id  INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    day      TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    tokens   INTEGER NOT NULL,
    calls    INTEGER NOT NULL,
    PRIMARY KEY (user_id, day, endpoint)
) STRICT, WITHOUT ROWID;

CREATE INDEX ledger_days_by_day ON ledger_days (day);

-- GET /account/usage adds up a year of an account by endpoint without sorting its rows.
CREATE INDEX ledger_days_by_endpoint ON ledger_days (user_id, endpoint, day, tokens, calls);

-- One row: how far the ledger has been summed into ledger_days, and a row before which no debit is open.
CREATE TABLE ledger_summed (
    -- Id of the last ledger row counted in ledger_days.
    last_id   INTEGER NOT NULL,
    -- No debit with an id up to this one is open.
    closed_to INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO ledger_summed (last_id) VALUES (0);

-- The last ledger row that existed when a UTC day began. If the clock jumps, a mark is only late.
CREATE TABLE ledger_marks (
    day     TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An archive file of ledger rows that have been, or are about to be, removed from the ledger.
CREATE TABLE ledger_archives (
    -- Id of the newest row in the file.
    last_id    INTEGER PRIMARY KEY,
    file       TEXT NOT NULL UNIQUE,
    rows       INTEGER NOT NULL CHECK (rows > 0),
    -- Latest created_at of the rows.
    last_at    TEXT NOT NULL,
    sha256     TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

-- A change of a user's wallet.
CREATE TABLE wallet (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- US cents added (positive) or spent (negative).
    cents      INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('credit', 'purchase')),
    -- Tokens bought.
    tokens     INTEGER NOT NULL CHECK (tokens >= 0),
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX wallet_by_user ON wallet (user_id, id);


-- ==================================================================================================================
-- 3. Mail
-- ==================================================================================================================

-- A mail to send or sent. The recipient and the links are looked up when it is sent, so this table contains no secrets.
CREATE TABLE mails (
    id         INTEGER PRIMARY KEY,
    -- Name of the template.
    template   TEXT NOT NULL CHECK (template <> ''),
    -- Id of the row that the mail is about. The template determines the table, so there is no foreign key.
    subject_id INTEGER NOT NULL,
    state      TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'sent', 'dropped', 'given_up')),
    attempts   INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    created_at TEXT NOT NULL,
    due_at     TEXT NOT NULL,
    done_at    TEXT,
    last_error TEXT,
    CHECK ((state = 'queued') = (done_at IS NULL))
) STRICT;

CREATE INDEX mails_due ON mails (due_at) WHERE state = 'queued';
CREATE INDEX mails_done ON mails (done_at) WHERE done_at IS NOT NULL;


-- ==================================================================================================================
-- 4. Events, webhooks and sniper targets
-- ==================================================================================================================

-- A feed and the number of its last event, which is stored here so that it is not reused after all events have been
-- pruned.
CREATE TABLE feeds (
    name      TEXT PRIMARY KEY,
    last_seq  INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
    -- The last number that this epoch of the journal shares with the one before.
    epoch_seq INTEGER NOT NULL DEFAULT 0 CHECK (epoch_seq >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO feeds (name) VALUES ('main-api'), ('insider-api'), ('13f-live');

-- One row: the epoch of the journal. Event numbers are comparable only within an epoch. Restoring a backup starts a new
-- epoch, because numbers are then given to other events.
CREATE TABLE journal (epoch INTEGER NOT NULL CHECK (epoch > 0)) STRICT;
INSERT INTO journal VALUES (1);

-- An event of a feed. The numbers of a feed have no gaps.
CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    feed        TEXT NOT NULL REFERENCES feeds (name),
    seq         INTEGER NOT NULL,
    type        TEXT NOT NULL CHECK (type <> ''),
    -- When it happened at the SEC, or NULL if that is unknown.
    occurred_at TEXT,
    -- When finapi learned of it.
    recorded_at TEXT NOT NULL,
    -- Comma-separated, for filtering.
    tickers     TEXT NOT NULL,
    -- Comma-separated, ten digits each, for filtering.
    ciks        TEXT NOT NULL,
    form_type   TEXT,
    -- The event's JSON object, sent as stored.
    data        TEXT NOT NULL,
    UNIQUE (feed, seq)
) STRICT;

CREATE INDEX events_by_age ON events (feed, recorded_at);

-- An outbox row that has been carried over from market data to accounts, so that it is never carried over twice.
CREATE TABLE carried (
    accession  TEXT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    carried_at TEXT NOT NULL,
    PRIMARY KEY (accession, type, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX carried_by_age ON carried (carried_at);

-- The webhook signing secret of a user, and the previous one, which also signs until previous_until.
CREATE TABLE webhook_secrets (
    user_id              INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    uuid                 TEXT NOT NULL,
    fingerprint          BLOB NOT NULL,
    previous_uuid        TEXT,
    previous_fingerprint BLOB,
    previous_until       TEXT,
    created_at           TEXT NOT NULL,
    -- As in api_keys.
    made_with            TEXT,
    -- As in api_keys.
    refused              INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1)),
    CHECK ((previous_uuid IS NULL) = (previous_until IS NULL)),
    CHECK ((previous_uuid IS NULL) = (previous_fingerprint IS NULL))
) STRICT;

CREATE INDEX webhook_secrets_by_secret ON webhook_secrets (refused, made_with);

-- A webhook delivery.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY,
    delivery_id TEXT NOT NULL UNIQUE,
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    event_type  TEXT NOT NULL CHECK (event_type <> ''),
    -- The sniper target that caused it.
    target_id   TEXT,
    -- The JSON that is sent, the same bytes at every attempt.
    body        TEXT NOT NULL,
    url         TEXT NOT NULL,
    -- The queue it waits in, one for each receiver: "host:port user hash". Deliveries of a lane are sent one after
    -- the other.
    lane        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'retry_pending', 'delivered', 'dropped')),
    -- All attempts made.
    attempts    INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    -- Failed attempts since it was last put into the queue.
    failures    INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    -- When it is sent next; while it is being sent, when the attempt counts as lost.
    due_at      TEXT,
    created_at  TEXT NOT NULL,
    done_at     TEXT,
    last_status INTEGER,
    last_error  TEXT,
    -- Since when it waits for a signing secret. NULL: it does not wait.
    held_at     TEXT,
    -- 1: resent or tested by the user, so it is tried even if the receiver is paused.
    asked       INTEGER NOT NULL DEFAULT 0,
    CHECK ((state IN ('delivered', 'dropped')) = (done_at IS NOT NULL)),
    CHECK ((done_at IS NULL) = (due_at IS NOT NULL))
) STRICT;

CREATE INDEX deliveries_soonest ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_user ON deliveries (user_id, id);
CREATE INDEX deliveries_dropped ON deliveries (user_id, done_at) WHERE state = 'dropped';
CREATE INDEX deliveries_done ON deliveries (done_at) WHERE done_at IS NOT NULL;
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
CREATE INDEX deliveries_held ON deliveries (user_id) WHERE held_at IS NOT NULL;
CREATE INDEX deliveries_held_since ON deliveries (held_at) WHERE held_at IS NOT NULL;
-- Retries before first attempts, so that a long queue does not delay them.
CREATE INDEX deliveries_due ON deliveries (lane, failures = 0, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_by_state ON deliveries (user_id, state, event_type, id);
CREATE INDEX deliveries_in_state ON deliveries (user_id, state, id);
CREATE INDEX deliveries_by_type ON deliveries (user_id, event_type, id);
-- Failed deliveries, newest first.
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state IN ('retry_pending', 'dropped');

-- An attempt to send a delivery. The row is written before the attempt: one without ended_at was interrupted and may or
-- may not have arrived.
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

-- A receiver whose last deliveries were all dropped. A successful delivery removes the row.
CREATE TABLE failing_receivers (
    id         INTEGER PRIMARY KEY,
    lane       TEXT NOT NULL UNIQUE,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Number of consecutive dropped deliveries.
    dropped    INTEGER NOT NULL CHECK (dropped > 0),
    dropped_at TEXT NOT NULL,
    -- When the user was notified by mail.
    told_at    TEXT
) STRICT;

CREATE INDEX failing_receivers_by_user ON failing_receivers (user_id, told_at);
CREATE INDEX failing_receivers_by_time ON failing_receivers (dropped_at);

-- A sniper target: a company watched for a filing during a window of time.
CREATE TABLE sniper_targets (
    id                INTEGER PRIMARY KEY,
    target_id         TEXT NOT NULL UNIQUE,
    user_id           INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- The company. No foreign key, because companies may be in another database.
    cik               INTEGER NOT NULL,
    ticker            TEXT NOT NULL,
    state             TEXT NOT NULL CHECK (state IN ('CREATED', 'ACTIVE', 'STOPPED')),
    resolution_reason TEXT CHECK (resolution_reason IN ('filing_hit', 'window_expired', 'manual_stop')),
    -- JSON list of form types. Empty: every form.
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


-- ==================================================================================================================
-- 5. Service status
-- ==================================================================================================================

-- A check of a service by the watchdog.
CREATE TABLE status_checks (
    service TEXT NOT NULL CHECK (service <> ''),
    -- The time that the round of checks belongs to, in seconds since 1970-01-01, whenever it was carried out.
    tick    INTEGER NOT NULL,
    class   TEXT NOT NULL CHECK (class IN ('healthy', 'degraded', 'down')),
    -- Response time in milliseconds.
    ms      INTEGER NOT NULL CHECK (ms >= 0),
    reason  TEXT,
    PRIMARY KEY (service, tick)
) STRICT, WITHOUT ROWID;

-- Checks of a service in an hour.
CREATE TABLE status_hours (
    service  TEXT NOT NULL,
    -- Seconds since 1970-01-01.
    start    INTEGER NOT NULL CHECK (start % 3600 = 0),
    checks   INTEGER NOT NULL CHECK (checks = healthy + degraded + down),
    healthy  INTEGER NOT NULL,
    degraded INTEGER NOT NULL,
    down     INTEGER NOT NULL,
    -- Sum of the response times.
    ms       INTEGER NOT NULL,
    PRIMARY KEY (service, start)
) STRICT, WITHOUT ROWID;

-- Checks of a service in a UTC day.
CREATE TABLE status_days (
    service  TEXT NOT NULL,
    -- Seconds since 1970-01-01.
    start    INTEGER NOT NULL CHECK (start % 86400 = 0),
    checks   INTEGER NOT NULL CHECK (checks = healthy + degraded + down),
    healthy  INTEGER NOT NULL,
    degraded INTEGER NOT NULL,
    down     INTEGER NOT NULL,
    -- Sum of the response times.
    ms       INTEGER NOT NULL,
    PRIMARY KEY (service, start)
) STRICT, WITHOUT ROWID;

-- A trigger, so that every stored check is counted exactly once.
CREATE TRIGGER status_check_counted AFTER INSERT ON status_checks BEGIN
    INSERT INTO status_hours (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 3600, 1,
            NEW.class = 'healthy', NEW.class = 'degraded', NEW.class = 'down', NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET
        checks = checks + 1, healthy = healthy + excluded.healthy, degraded = degraded + excluded.degraded,
        down = down + excluded.down, ms = ms + excluded.ms;
    INSERT INTO status_days (service, start, checks, healthy, degraded, down, ms)
    VALUES (NEW.service, NEW.tick - NEW.tick % 86400, 1,
            NEW.class = 'healthy', NEW.class = 'degraded', NEW.class = 'down', NEW.ms)
    ON CONFLICT (service, start) DO UPDATE SET
        checks = checks + 1, healthy = healthy + excluded.healthy, degraded = degraded + excluded.degraded,
        down = down + excluded.down, ms = ms + excluded.ms;
END;

-- What the processes counted in an hour: calls, tokens and errors, and for each queue the most entries that waited.
CREATE TABLE activity_hours (
    measure TEXT NOT NULL,
    -- Seconds since 1970-01-01.
    start   INTEGER NOT NULL CHECK (start % 3600 = 0),
    amount  INTEGER NOT NULL,
    PRIMARY KEY (start, measure)
) STRICT, WITHOUT ROWID;

-- A change of a service's status. Before its first change a service was operational.
CREATE TABLE status_changes (
    id         INTEGER PRIMARY KEY,
    service    TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('operational', 'degraded', 'down')),
    reason     TEXT
) STRICT;

CREATE INDEX status_changes_by_service ON status_changes (service, id);


-- ==================================================================================================================
-- 6. State of the market data
-- ==================================================================================================================

-- One row: the version of the market data, on which ETags and caches depend.
CREATE TABLE data_version (
    -- Number of transactions that changed market data.
    version INTEGER NOT NULL,
    -- A random value, new with each version: two databases with the same version number may differ.
    stamp   TEXT NOT NULL DEFAULT ''
) STRICT;
INSERT INTO data_version (version) VALUES (0);

-- One row while the accounts are in PostgreSQL: the database that holds them. The tables of accounts in this file are as
-- they were before the move then, and are not opened. Copies of this file have the row too.
CREATE TABLE moved_accounts (database TEXT NOT NULL) STRICT;

-- Numbers of stored rows of each kind, so that nothing has to be counted. Triggers and the code that stores rows in
-- batches maintain them.
CREATE TABLE held_counts (
    name   TEXT PRIMARY KEY,
    number INTEGER NOT NULL CHECK (number >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO held_counts VALUES
    ('companies', 0), ('facts', 0), ('filings', 0), ('holdings', 0), ('insider_transactions', 0), ('insiders', 0),
    ('prices', 0), ('tickers', 0);

-- When data of a kind were last stored.
CREATE TABLE arrivals (
    kind       TEXT PRIMARY KEY CHECK (kind IN ('filing', '13f_batch', 'xbrl_run', 'news')),
    arrived_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The last step of a background component.
CREATE TABLE heartbeats (
    name    TEXT PRIMARY KEY CHECK (name <> ''),
    beat_at TEXT NOT NULL,
    -- Duration in milliseconds, where it is known.
    took_ms INTEGER CHECK (took_ms >= 0),
    -- Why the step failed. NULL: it succeeded.
    failure TEXT CHECK (failure <> '')
) STRICT, WITHOUT ROWID;

-- A filing that has been announced in the main feed. Each filing is announced once.
CREATE TABLE announced_filings (
    accession TEXT PRIMARY KEY,
    -- 1: its filing date was unknown. Sniper targets are matched when the date becomes known.
    undated   INTEGER NOT NULL DEFAULT 0 CHECK (undated IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Something that a filing causes in accounts: an event, a webhook or a hit of a sniper target. It is written in the
-- transaction that stores the filing and carried over afterwards, because accounts may be in another database.
CREATE TABLE outbox (
    -- AUTOINCREMENT: the worker deletes rows by id after carrying them over, and must not delete a newer row that
    -- reuses the id.
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    accession   TEXT NOT NULL,
    -- Type of the event or webhook.
    type        TEXT NOT NULL,
    -- Distinguishes rows of one type about the same filing.
    subject     TEXT NOT NULL,
    occurred_at TEXT,
    tickers     TEXT NOT NULL,
    ciks        TEXT NOT NULL,
    form_type   TEXT,
    data        TEXT NOT NULL,
    noted_at    TEXT NOT NULL,
    -- Failed attempts to carry it over.
    tries       INTEGER NOT NULL DEFAULT 0,
    -- Why the last attempt failed.
    reason      TEXT,
    -- 1: given up after several attempts, so that it does not block the rows after it.
    aside       INTEGER NOT NULL DEFAULT 0 CHECK (aside IN (0, 1))
) STRICT;

CREATE INDEX outbox_waiting ON outbox (id) WHERE aside = 0;
CREATE INDEX outbox_aside ON outbox (noted_at) WHERE aside = 1;


-- ==================================================================================================================
-- 7. Companies and tickers
-- ==================================================================================================================

-- A company or person with a CIK. Names and attributes keep the value of the best source, whatever the order in which
-- documents are stored.
CREATE TABLE companies (
    cik              INTEGER PRIMARY KEY,
    name             TEXT NOT NULL,
    -- Rank of the source of the name; higher is better.
    name_rank        INTEGER NOT NULL,
    -- Day as of which the source states the name.
    name_as_of       TEXT NOT NULL,
    -- Attributes as the source states them: a JSON object with members of CompanyAttributes
    -- (finapi/edgar/company_attributes.py). Those that SQL uses are columns in addition.
    attributes       TEXT NOT NULL DEFAULT '{}',
    -- Standard Industrial Classification code.
    sic              INTEGER,
    -- Month and day: 0927.
    fiscal_year_end  TEXT,
    state            TEXT,
    entity_type      TEXT,
    -- Rank of the source of the attributes.
    attributes_rank  INTEGER NOT NULL DEFAULT 0,
    -- Day as of which the source states them.
    attributes_as_of TEXT NOT NULL DEFAULT '',
    -- Number of changes of the company's stored facts. Cached fact books depend on it.
    facts_changed    INTEGER NOT NULL DEFAULT 0,
    -- Position in the SEC's list of tickers, which is ordered by size.
    list_place       INTEGER
) STRICT;

-- The largest companies.
CREATE INDEX companies_by_place ON companies (list_place) WHERE list_place IS NOT NULL;

CREATE TRIGGER companies_added AFTER INSERT ON companies BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'companies';
END;

CREATE TRIGGER companies_removed AFTER DELETE ON companies BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'companies';
END;

-- A ticker of a company.
CREATE TABLE tickers (
    ticker    TEXT NOT NULL,
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    exchange  TEXT,
    -- 0: cover page of a filing, 1: submissions list, 2: the SEC's list of tickers. Higher is better.
    source    INTEGER NOT NULL,
    position  INTEGER NOT NULL,
    -- Day of the best document that states the ticker. Tickers that newer documents no longer state are former ones.
    last_seen TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (ticker, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX tickers_by_company ON tickers (cik, source DESC, position);
CREATE INDEX tickers_squeezed ON tickers (replace(ticker, '-', ''));

CREATE TRIGGER tickers_added AFTER INSERT ON tickers BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'tickers';
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = NEW.cik);
END;

CREATE TRIGGER tickers_changed AFTER UPDATE OF source, position, last_seen ON tickers BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = NEW.cik);
END;

CREATE TRIGGER tickers_removed BEFORE DELETE ON tickers BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'tickers';
    UPDATE latest_years SET stamp = random() WHERE cik = OLD.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = OLD.cik);
END;

-- A former name of a company.
CREATE TABLE former_names (
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    name      TEXT NOT NULL,
    from_date TEXT,
    to_date   TEXT,
    UNIQUE (cik, name, from_date, to_date)
) STRICT;

-- A name of a company in normalised form, by which the issuer of a 13F row is recognised.
CREATE TABLE company_keys (
    key    TEXT NOT NULL,
    cik    INTEGER NOT NULL REFERENCES companies (cik),
    -- 1: a former name, which counts only if no company has it today.
    former INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (key, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX company_keys_by_company ON company_keys (cik);

-- For the SQL proxy: companies.
CREATE VIEW company AS
SELECT cik, name, sic, state, fiscal_year_end, entity_type FROM companies;

-- For the SQL proxy: former names.
CREATE VIEW former_name AS
SELECT cik, name, from_date, to_date FROM former_names;

-- For the SQL proxy: tickers.
CREATE VIEW ticker AS
SELECT ticker AS symbol, cik, exchange, last_seen FROM tickers;

-- Companies with their main ticker: the first one of the best source.
CREATE VIEW companies_with_ticker AS
SELECT cik, name, sic, (
    SELECT ticker FROM tickers
    WHERE tickers.cik = companies.cik
    ORDER BY source DESC, last_seen DESC, position, ticker
    LIMIT 1
) AS ticker
FROM companies;

-- Tickers of a company's shares: no preferred shares, warrants, rights or units. class is the letter of the share
-- class, class_of the ticker without it: BRK-B is class B of BRK, FOXA is class A of FOX. GOOGL and ZG are the class A
-- shares of the issuers of GOOG and Z.
CREATE VIEW share_tickers AS
SELECT cik, ticker, source, last_seen, position,
    CASE WHEN ticker IN ('GOOGL', 'ZG') THEN 'A' WHEN ticker GLOB '*-[A-D]' THEN substr(ticker, -1)
        WHEN sister THEN replace(substr(ticker, -1), 'K', 'C') END AS class,
    CASE WHEN ticker GLOB '*-[A-D]' THEN substr(ticker, 1, length(ticker) - 2)
        WHEN sister OR ticker IN ('GOOGL', 'ZG') THEN substr(ticker, 1, length(ticker) - 1) END AS class_of
FROM (
    SELECT *, ticker GLOB '*[ABCK]' AND EXISTS (
        SELECT 1 FROM tickers AS other
        WHERE other.cik = tickers.cik AND other.ticker = substr(tickers.ticker, 1, length(tickers.ticker) - 1)
    ) AS sister
    FROM tickers
    WHERE ticker NOT GLOB '*-P*' AND ticker NOT GLOB '*-[WRU]*' AND ticker NOT GLOB '????[WRU]'
);


-- ==================================================================================================================
-- 8. Filings
-- ==================================================================================================================

-- A filing. Each field has the value of its best source, whatever the order in which documents are stored.
CREATE TABLE filings (
    id               INTEGER PRIMARY KEY,
    accession        TEXT NOT NULL UNIQUE,
    -- The company that the filing is listed under: the party with the lowest rank.
    cik              INTEGER NOT NULL REFERENCES companies (cik),
    form             TEXT,
    filed_at         TEXT,
    accepted_at      TEXT,
    period_of_report TEXT,
    primary_document TEXT,
    -- Comma-separated items of an 8-K.
    items            TEXT,
    -- Bytes of the complete submission.
    size             INTEGER,
    is_xbrl          INTEGER,
    is_inline_xbrl   INTEGER,
    description      TEXT,
    file_number      TEXT,
    -- One digit for each field, the rank of its source (market/documents/metadata.py).
    evidence         TEXT NOT NULL DEFAULT '',
    -- When finapi learned of it.
    first_seen_at    TEXT NOT NULL DEFAULT '',
    updated_at       TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX filings_by_company ON filings (cik, period_of_report DESC, filed_at DESC);

CREATE TRIGGER filings_changed AFTER UPDATE OF form, filed_at ON filings
WHEN (OLD.form, OLD.filed_at) IS NOT (NEW.form, NEW.filed_at) BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM fact_sets WHERE filing_id = NEW.id);
END;

CREATE TRIGGER filings_redated AFTER UPDATE OF filed_at ON filings WHEN OLD.filed_at IS NOT NEW.filed_at BEGIN
    INSERT OR IGNORE INTO holdings_redated SELECT id FROM holdings_reports WHERE filing_id = NEW.id;
END;

-- A company or person that a filing is by or about.
CREATE TABLE filing_parties (
    filing_id INTEGER NOT NULL REFERENCES filings (id) ON DELETE CASCADE,
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    -- Role of the party; the lowest rank determines whose filing it is.
    rank      INTEGER NOT NULL,
    PRIMARY KEY (filing_id, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX filing_parties_by_company ON filing_parties (cik, filing_id);

-- A document of a filing, as listed in its complete submission.
CREATE TABLE filing_documents (
    filing_id   INTEGER NOT NULL REFERENCES filings (id) ON DELETE CASCADE,
    -- Position in the submission.
    seq         INTEGER NOT NULL,
    type        TEXT NOT NULL,
    filename    TEXT,
    description TEXT,
    -- Bytes.
    size        INTEGER NOT NULL,
    PRIMARY KEY (filing_id, seq)
) STRICT, WITHOUT ROWID;

-- A term by which lists of filings are searched. Lists are in the order of the primary key.
CREATE TABLE filing_terms (
    -- '' for every filing; else a letter and a value: 'c320193' a company, 'f10-K' a form, 'i2.02' an item of an 8-K,
    -- 'eEX-99.1' the type of a contained document, 'dANNUAL REPORT' a description.
    term     TEXT NOT NULL,
    -- Filing date; '' when unknown.
    filed_at TEXT NOT NULL,
    -- The accession number without dashes.
    number   INTEGER NOT NULL,
    PRIMARY KEY (term, filed_at, number)
) STRICT, WITHOUT ROWID;

-- Number of filings of a term: of all filings, forms and descriptions.
CREATE TABLE term_counts (term TEXT PRIMARY KEY, filings INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- Number of filings of a form that a company is a party of.
CREATE TABLE form_entities (
    form    TEXT NOT NULL,
    cik     INTEGER NOT NULL REFERENCES companies (cik),
    filings INTEGER NOT NULL,
    PRIMARY KEY (form, cik)
) STRICT, WITHOUT ROWID;

-- An older page of a company's submissions list, which is a document of its own.
CREATE TABLE submission_pages (
    name     TEXT PRIMARY KEY,
    cik      INTEGER NOT NULL REFERENCES companies (cik),
    -- Number of filings on the page.
    filings  INTEGER,
    -- Earliest filing date on the page.
    first    TEXT,
    -- Latest filing date on the page.
    last     TEXT,
    ingested INTEGER NOT NULL DEFAULT 0 CHECK (ingested IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX submission_pages_by_company ON submission_pages (cik, name);

-- For the SQL proxy: filings.
CREATE VIEW filing AS
SELECT accession AS accession_number, cik, form AS form_type, filed_at, accepted_at, period_of_report, items,
    primary_document, size, is_xbrl
FROM filings
WHERE accession NOT GLOB 'unfiled-*';

-- For the SQL proxy: companies and persons of filings.
CREATE VIEW filing_party AS
SELECT filings.accession AS accession_number, filing_parties.cik
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id;


-- ==================================================================================================================
-- 9. Documents and full text search
-- ==================================================================================================================

-- The content of a document of a filing: its primary document, or another one of its submission.
CREATE TABLE filing_bodies (
    id            INTEGER PRIMARY KEY,
    filing_id     INTEGER NOT NULL REFERENCES filings (id) ON DELETE CASCADE,
    -- Position in the submission, as in filing_documents.
    seq           INTEGER NOT NULL DEFAULT 1,
    is_primary    INTEGER NOT NULL DEFAULT 1 CHECK (is_primary IN (0, 1)),
    -- 1: the text of the document belongs into the full text index.
    is_searchable INTEGER NOT NULL DEFAULT 1 CHECK (is_searchable IN (0, 1)),
    -- html, text and xml are text in UTF-8, the others are bytes as filed.
    media         TEXT NOT NULL CHECK (media IN ('html', 'text', 'xml', 'pdf', 'jpeg', 'gif', 'png', 'binary')),
    packed        BLOB NOT NULL,
    -- SHA-256 of the content, in hexadecimal.
    sha256        TEXT,
    UNIQUE (filing_id, seq)
) STRICT;

CREATE TRIGGER filing_bodies_added AFTER INSERT ON filing_bodies BEGIN
    UPDATE filing_bodies_size
    SET bytes = bytes + NEW.is_primary * length(NEW.packed),
        exhibit_bytes = exhibit_bytes + (1 - NEW.is_primary) * length(NEW.packed),
        documents = documents + NEW.is_searchable;
END;

CREATE TRIGGER filing_bodies_removed AFTER DELETE ON filing_bodies BEGIN
    UPDATE filing_bodies_size
    SET bytes = bytes - OLD.is_primary * length(OLD.packed),
        exhibit_bytes = exhibit_bytes - (1 - OLD.is_primary) * length(OLD.packed),
        documents = documents - OLD.is_searchable;
END;

-- The plain text of a stored document. Its words are in filing_words (sql/full_text.sql), where SQLite has FTS5.
CREATE TABLE filing_texts (
    body_id    INTEGER PRIMARY KEY REFERENCES filing_bodies (id) ON DELETE CASCADE,
    -- Row id in filing_words: made of filing day and body id, so that the newest filings are last.
    place      INTEGER NOT NULL UNIQUE,
    -- Length of the text.
    characters INTEGER NOT NULL,
    packed     BLOB NOT NULL
) STRICT;

CREATE TRIGGER filing_texts_added AFTER INSERT ON filing_texts BEGIN
    UPDATE filing_bodies_size SET texts = texts + 1, characters = characters + NEW.characters;
END;

CREATE TRIGGER filing_texts_removed AFTER DELETE ON filing_texts BEGIN
    UPDATE filing_bodies_size SET texts = texts - 1, characters = characters - OLD.characters;
END;

-- One row: sizes of the two tables above, maintained by their triggers so that limits are cheap to check.
CREATE TABLE filing_bodies_size (
    -- Compressed bytes of the primary documents in filing_bodies.
    bytes         INTEGER NOT NULL,
    -- Compressed bytes of the other documents.
    exhibit_bytes INTEGER NOT NULL DEFAULT 0,
    -- Searchable documents in filing_bodies.
    documents     INTEGER NOT NULL DEFAULT 0,
    texts         INTEGER NOT NULL DEFAULT 0,
    -- Characters in filing_texts.
    characters    INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO filing_bodies_size (bytes) VALUES (0);


-- ==================================================================================================================
-- 10. Statements as filed (XBRL)
-- ==================================================================================================================

-- The XBRL documents of a filing. If other documents of the same filing are stored later, they are a second report.
CREATE TABLE reports (
    id               INTEGER PRIMARY KEY,
    filing_id        INTEGER NOT NULL REFERENCES filings (id),
    -- The company that the cover names.
    cik              INTEGER NOT NULL REFERENCES companies (cik),
    -- SHA-256 of the documents.
    sha256           BLOB NOT NULL,
    form             TEXT NOT NULL,
    period_of_report TEXT NOT NULL,
    fiscal_year      INTEGER,
    fiscal_period    TEXT,
    -- Number of statements.
    statements       INTEGER NOT NULL,
    -- Number of documents.
    documents        INTEGER NOT NULL,
    -- xbrl, or fsds for the Financial Statement Data Sets.
    source           TEXT NOT NULL,
    -- JSON array of the file names of the inline pages, empty if the filing is not inline.
    pages            TEXT NOT NULL DEFAULT '[]',
    UNIQUE (filing_id, sha256)
) STRICT;

CREATE INDEX reports_by_company ON reports (cik, period_of_report DESC);

-- An XBRL concept.
CREATE TABLE concepts (
    id   INTEGER PRIMARY KEY,
    -- Prefix and name: us-gaap:Assets.
    name TEXT NOT NULL UNIQUE
) STRICT;

-- A unit of measure.
CREATE TABLE units (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
-- Unit 0 stands for facts without a unit: texts.
INSERT INTO units VALUES (0, '');

-- A combination of XBRL dimensions.
CREATE TABLE dimensions (
    id      INTEGER PRIMARY KEY,
    -- JSON object of axis to member, in canonical order.
    members TEXT NOT NULL UNIQUE
) STRICT;
-- Dimension 0 stands for facts without dimensions.
INSERT INTO dimensions VALUES (0, '{}');

-- A role of XBRL labels.
CREATE TABLE label_roles (id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE) STRICT;

-- A section of a report: a statement or a note.
CREATE TABLE sections (
    id         INTEGER PRIMARY KEY,
    report_id  INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    role_uri   TEXT NOT NULL,
    definition TEXT NOT NULL,
    -- Kind of statement. NULL: not a statement.
    kind       TEXT,
    UNIQUE (report_id, seq)
) STRICT;

-- A line of a section's presentation tree, in order.
CREATE TABLE lines (
    section_id    INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    seq           INTEGER NOT NULL,
    concept_id    INTEGER NOT NULL REFERENCES concepts (id),
    -- Level of indentation.
    depth         INTEGER NOT NULL,
    -- 0: an item, 1: a heading, 2: structure (table, axis, member).
    nature        INTEGER NOT NULL,
    label         TEXT,
    label_role_id INTEGER REFERENCES label_roles (id),
    -- 0: as usual, 1: balance at the start of a duration column, 2: balance at its end.
    placement     INTEGER NOT NULL,
    -- 1: shown with the opposite sign.
    negated       INTEGER NOT NULL,
    balance       TEXT CHECK (balance IN ('debit', 'credit')),
    PRIMARY KEY (section_id, seq)
) STRICT, WITHOUT ROWID;

-- A column of a statement, as the SEC's renderer shows it. Columns are chosen when the report is stored, because the
-- choice depends on all its sections.
CREATE TABLE section_columns (
    section_id   INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    context_seq  INTEGER NOT NULL,
    -- NULL: an instant.
    start_date   TEXT,
    end_date     TEXT NOT NULL,
    dimension_id INTEGER NOT NULL REFERENCES dimensions (id),
    PRIMARY KEY (section_id, seq)
) STRICT, WITHOUT ROWID;

-- An addend of a total in a section's calculation: the total is the sum of weight times item.
CREATE TABLE sums (
    section_id INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    total_id   INTEGER NOT NULL REFERENCES concepts (id),
    seq        INTEGER NOT NULL,
    item_id    INTEGER NOT NULL REFERENCES concepts (id),
    weight     TEXT NOT NULL,
    PRIMARY KEY (section_id, total_id, seq)
) STRICT, WITHOUT ROWID;


-- ==================================================================================================================
-- 11. Facts
-- ==================================================================================================================

-- The facts that one source states about one company in one filing.
CREATE TABLE fact_sets (
    id          INTEGER PRIMARY KEY,
    filing_id   INTEGER NOT NULL REFERENCES filings (id),
    cik         INTEGER NOT NULL REFERENCES companies (cik),
    -- 0: XBRL documents, 1: companyfacts, 2: Financial Statement Data Sets.
    source      INTEGER NOT NULL CHECK (source IN (0, 1, 2)),
    -- NULL where the source has no statements.
    report_id   INTEGER UNIQUE REFERENCES reports (id) ON DELETE CASCADE,
    -- The fiscal year that the filing names, where the source states it.
    fiscal_year INTEGER,
    -- Number of facts.
    facts       INTEGER NOT NULL DEFAULT 0,
    -- Number of facts without dimensions that are not hidden.
    shown       INTEGER NOT NULL DEFAULT 0,
    -- Dimension of the consolidated figures: 0, except in filings whose facts all have dimensions.
    whole       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX fact_sets_by_company ON fact_sets (cik, filing_id, source, coalesce(report_id, 0));
CREATE INDEX fact_sets_by_filing ON fact_sets (filing_id);

CREATE TRIGGER fact_sets_added AFTER INSERT ON fact_sets BEGIN
    INSERT INTO latest_years (cik, stamp) VALUES (NEW.cik, random())
    ON CONFLICT (cik) DO UPDATE SET stamp = excluded.stamp;
    UPDATE held_counts SET number = number + NEW.shown WHERE name = 'facts';
END;

CREATE TRIGGER fact_sets_removed AFTER DELETE ON fact_sets BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = OLD.cik;
    UPDATE held_counts SET number = number - OLD.shown WHERE name = 'facts';
END;

CREATE TRIGGER fact_sets_changed AFTER UPDATE OF filing_id, fiscal_year, whole, shown ON fact_sets
WHEN (OLD.filing_id, OLD.fiscal_year, OLD.whole, OLD.shown)
    IS NOT (NEW.filing_id, NEW.fiscal_year, NEW.whole, NEW.shown) BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik;
    UPDATE held_counts SET number = number + NEW.shown - OLD.shown WHERE name = 'facts';
END;

-- A fact as tagged. The primary key stores a set's facts together, those without dimensions first, so that a company's
-- facts are read in one pass. Concept, unit and dimension have no foreign keys: the same transaction looked them up,
-- and checking them again took a fifth of the time of storing a large document.
CREATE TABLE facts (
    fact_set_id  INTEGER NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    dimension_id INTEGER NOT NULL,
    concept_id   INTEGER NOT NULL,
    -- Days since 1970-01-01.
    end_day      INTEGER NOT NULL,
    -- Length of the period in days. 0: an instant, at the end of end_day.
    days         INTEGER NOT NULL CHECK (days >= 0),
    unit_id      INTEGER NOT NULL,
    -- 1: a better source states the same fact of the same filing.
    hidden       INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
    -- The exact text. NULL: nil.
    value        TEXT,
    decimals     TEXT,
    PRIMARY KEY (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
) STRICT, WITHOUT ROWID;

-- Contains every column that its condition and its queries read, so that no fact is looked up in the table.
CREATE INDEX facts_by_concept ON facts (concept_id, fact_set_id, end_day, hidden) WHERE dimension_id = 0 AND hidden = 0;

-- The element of an inline page that states a fact. It is a table of its own, because the facts of a company are read
-- more often than the ids of their elements, which are long.
CREATE TABLE fact_elements (
    fact_set_id  INTEGER NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    dimension_id INTEGER NOT NULL,
    concept_id   INTEGER NOT NULL,
    end_day      INTEGER NOT NULL,
    days         INTEGER NOT NULL,
    unit_id      INTEGER NOT NULL,
    -- Index in reports.pages.
    page         INTEGER NOT NULL,
    -- The id of the element.
    element_id   TEXT NOT NULL,
    PRIMARY KEY (fact_set_id, dimension_id, concept_id, end_day, days, unit_id)
) STRICT, WITHOUT ROWID;

-- The further values of a fact that its filing states with the same precision, such as two different totals. The first
-- value in the document is in the table facts.
CREATE TABLE fact_conflicts (
    fact_set_id  INTEGER NOT NULL REFERENCES fact_sets (id) ON DELETE CASCADE,
    dimension_id INTEGER NOT NULL,
    concept_id   INTEGER NOT NULL,
    end_day      INTEGER NOT NULL,
    days         INTEGER NOT NULL,
    unit_id      INTEGER NOT NULL,
    -- The order in the document, from 1.
    seq          INTEGER NOT NULL,
    value        TEXT NOT NULL,
    PRIMARY KEY (fact_set_id, dimension_id, concept_id, end_day, days, unit_id, seq)
) STRICT, WITHOUT ROWID;

-- The latest fiscal year of a company with facts, computed in the background so that screens read rows. The figures are
-- valid while made_of equals stamp and made_by equals the current rules.
CREATE TABLE latest_years (
    cik     INTEGER PRIMARY KEY,
    -- A random number, new whenever anything changes that the figures depend on. Triggers set it.
    stamp   INTEGER NOT NULL,
    -- The stamp that the figures were computed from.
    made_of INTEGER,
    -- The version of the rules that computed them.
    made_by TEXT,
    -- JSON object.
    figures TEXT
) STRICT;

CREATE TRIGGER companies_changed AFTER UPDATE OF sic, fiscal_year_end, facts_changed ON companies
WHEN (OLD.sic, OLD.fiscal_year_end, OLD.facts_changed) IS NOT (NEW.sic, NEW.fiscal_year_end, NEW.facts_changed) BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik;
END;

-- The fact book of a company, written together with its latest year so that a first request reads one row. It is valid
-- while made_of equals latest_years.stamp and made_by equals the current rules.
CREATE TABLE kept_books (
    cik     INTEGER PRIMARY KEY,
    made_of INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    book    BLOB NOT NULL
) STRICT;

-- A share split that a company's filings imply: after one day and not after another. Written with the company's book.
CREATE TABLE filed_splits (
    cik       INTEGER NOT NULL,
    -- New shares for one old share.
    factor    TEXT NOT NULL,
    -- The exact date, where it is known.
    date      TEXT,
    -- The split happened after this day ...
    after     TEXT NOT NULL,
    -- ... and not after this day.
    until     TEXT NOT NULL,
    -- The filing that states it.
    accession TEXT NOT NULL,
    PRIMARY KEY (cik, until, factor)
) STRICT, WITHOUT ROWID;

CREATE INDEX filed_splits_by_day ON filed_splits (until);

CREATE TRIGGER filed_splits_told AFTER INSERT ON filed_splits BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik
    WHERE told.cik = NEW.cik AND told.until = NEW.until AND told.factor = NEW.factor;
END;

CREATE TRIGGER filed_splits_untold BEFORE DELETE ON filed_splits BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik
    WHERE told.cik = OLD.cik AND told.until = OLD.until AND told.factor = OLD.factor;
END;

-- For the SQL proxy: facts without dimensions, each from the one source that counts for its filing.
CREATE VIEW fact AS
SELECT fact_sets.cik, filings.accession AS accession_number, filings.form AS form_type, filings.filed_at,
    concepts.name AS concept, units.name AS unit,
    CASE WHEN facts.days = 0 THEN NULL ELSE date((facts.end_day - facts.days + 1) * 86400, 'unixepoch') END
        AS start_date,
    date(facts.end_day * 86400, 'unixepoch') AS end_date, facts.days, facts.value,
    CASE WHEN facts.unit_id = 0 THEN NULL ELSE CAST(facts.value AS REAL) END AS number
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
JOIN facts ON facts.fact_set_id = fact_sets.id AND facts.dimension_id = 0 AND facts.hidden = 0
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id;

-- Quarters in which a filed split may have happened.
CREATE VIEW filed_split_quarters AS
SELECT cik, factor, until, period FROM (
    SELECT filed.cik, filed.factor, filed.after, filed.until, date(filed.after, 'start of month',
        '+' || ((12 - strftime('%m', filed.after)) % 3 + 1 + 3 * steps.value) || ' months', '-1 day') AS period
    FROM filed_splits AS filed
    CROSS JOIN json_each('[0,1,2,3,4,5,6,7,8]') AS steps
)
WHERE period > after AND date(period, 'start of month', '-2 months', '-1 day') < until;


-- ==================================================================================================================
-- 12. Prices
-- ==================================================================================================================

-- The prices of a ticker.
CREATE TABLE price_series (
    id        INTEGER PRIMARY KEY,
    ticker    TEXT NOT NULL UNIQUE,
    -- 1: invented for a demonstration. Synthetic prices are never mixed with real ones.
    synthetic INTEGER NOT NULL CHECK (synthetic IN (0, 1)),
    -- Number of changes of the series. Values computed from its prices depend on it.
    changed   INTEGER NOT NULL DEFAULT 0,
    -- 1: a file has stated splits or dividends, so adj_close of the files is not used.
    acted     INTEGER NOT NULL DEFAULT 0,
    -- The value of changed when quarter_returns was computed.
    counted   INTEGER NOT NULL DEFAULT -1
) STRICT;

CREATE INDEX price_series_uncounted ON price_series (id) WHERE changed <> counted;

CREATE TRIGGER price_series_added AFTER INSERT ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = NEW.ticker);
END;

CREATE TRIGGER price_series_changed AFTER UPDATE ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = NEW.ticker);
END;

CREATE TRIGGER price_series_removed AFTER DELETE ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = OLD.ticker);
END;

-- The prices of a day.
CREATE TABLE prices (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    date      TEXT NOT NULL,
    open      TEXT,
    high      TEXT,
    low       TEXT,
    close     TEXT NOT NULL,
    -- Shares as an exact decimal, as fractions of a share are traded too.
    volume    TEXT,
    -- Last day of the file and the beginning of its hash. Of two files that differ on a day, the one that reaches
    -- further counts.
    vintage   TEXT NOT NULL,
    -- The adjusted close as the file states it.
    adj_close TEXT,
    -- Why the day may be wrong, or NULL (finapi/market/prices/price_doubts.py).
    doubt     TEXT,
    PRIMARY KEY (series_id, date)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER prices_added AFTER INSERT ON prices BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'prices';
END;

CREATE TRIGGER prices_removed AFTER DELETE ON prices BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'prices';
END;

-- A split or a dividend.
CREATE TABLE price_actions (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    date      TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('split', 'dividend')),
    -- Of a split, new shares for one old share; of a dividend, dollars per share.
    value     TEXT NOT NULL,
    vintage   TEXT NOT NULL,
    PRIMARY KEY (series_id, date, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX splits_by_day ON price_actions (date) WHERE kind = 'split';

CREATE TRIGGER splits_told AFTER INSERT ON price_actions WHEN NEW.kind = 'split' BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, split_quarters.period FROM split_quarters
    JOIN securities ON securities.ticker = split_quarters.ticker
    WHERE split_quarters.series_id = NEW.series_id AND split_quarters.date = NEW.date;
END;

CREATE TRIGGER filed_splits_priced AFTER INSERT ON price_actions WHEN NEW.kind = 'split' BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM price_series
    JOIN securities ON securities.ticker = price_series.ticker
    JOIN filed_split_quarters AS told ON told.cik = securities.cik
    WHERE price_series.id = NEW.series_id;
END;

-- The return of a share over a quarter. Synthetic prices have none.
CREATE TABLE quarter_returns (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    period    TEXT NOT NULL,
    -- A decimal: 0.05 is five per cent.
    earned    TEXT NOT NULL,
    -- 1: adjusted for splits and dividends.
    adjusted  INTEGER NOT NULL,
    PRIMARY KEY (series_id, period)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER quarter_returns_added AFTER INSERT ON quarter_returns BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period = NEW.period;
END;

CREATE TRIGGER quarter_returns_removed AFTER DELETE ON quarter_returns BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period = OLD.period;
END;

-- A quarter over which returns are computed: one that begins where a quarter of some fund ends.
CREATE TABLE returned_quarters (
    period TEXT PRIMARY KEY,
    -- CIK of the fund from which on fund_returns is to be recomputed. 0: nothing to do.
    due    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For the SQL proxy: prices.
CREATE VIEW price AS
SELECT price_series.ticker AS symbol, prices.date, CAST(prices.open AS REAL) AS open,
    CAST(prices.high AS REAL) AS high, CAST(prices.low AS REAL) AS low, CAST(prices.close AS REAL) AS close,
    CAST(prices.volume AS NUMERIC) AS volume, price_series.synthetic,
    prices.doubt AS price_doubt
FROM price_series
JOIN prices ON prices.series_id = price_series.id;

-- For the SQL proxy: splits and dividends.
CREATE VIEW price_action AS
SELECT price_series.ticker AS symbol, price_actions.date, price_actions.kind,
    CAST(price_actions.value AS REAL) AS value
FROM price_series
JOIN price_actions ON price_actions.series_id = price_series.id;

-- Splits of real price series, with the quarter of each.
CREATE VIEW split_quarters AS
SELECT price_series.ticker, price_actions.series_id, price_actions.date,
    date(price_actions.date, 'start of month', '+' || ((12 - strftime('%m', price_actions.date)) % 3 + 1) || ' months',
        '-1 day') AS period
FROM price_actions
JOIN price_series ON price_series.id = price_actions.series_id AND NOT price_series.synthetic
WHERE price_actions.kind = 'split';


-- ==================================================================================================================
-- 13. Insiders (forms 3, 4 and 5)
-- ==================================================================================================================

-- A person or entity that has filed as an insider.
CREATE TABLE insiders (
    cik        INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    is_entity  INTEGER NOT NULL,
    -- Filing day of the form that the name is from: the newest form counts.
    named_day  INTEGER NOT NULL,
    -- Id of that form.
    named_form INTEGER NOT NULL
) STRICT;

CREATE TRIGGER insiders_added AFTER INSERT ON insiders BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'insiders';
END;

CREATE TRIGGER insiders_removed AFTER DELETE ON insiders BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'insiders';
END;

-- An ownership form.
CREATE TABLE insider_forms (
    -- The accession number as 18 digits. While the filing is not known, a negative number made of the hash.
    id                INTEGER PRIMARY KEY,
    accession         TEXT NOT NULL UNIQUE,
    -- SHA-256 of the document.
    content           BLOB NOT NULL,
    -- 0: a quarterly data set, 1: the document itself, which contains more.
    source            INTEGER NOT NULL,
    -- JSON of everything the form states. The other tables of this section are built from it.
    body              BLOB NOT NULL,
    issuer_cik        INTEGER NOT NULL REFERENCES companies (cik),
    sic               INTEGER,
    -- SIC division (sectors.tsv names them).
    sector            TEXT GENERATED ALWAYS AS (CASE
        WHEN sic IS NULL THEN NULL WHEN sic < 1000 THEN 'A' WHEN sic < 1500 THEN 'B' WHEN sic < 2000 THEN 'C'
        WHEN sic < 4000 THEN 'D' WHEN sic < 5000 THEN 'E' WHEN sic < 5200 THEN 'F' WHEN sic < 6000 THEN 'G'
        WHEN sic < 7000 THEN 'H' WHEN sic < 9000 THEN 'I' WHEN sic < 9900 THEN 'J' ELSE 'K' END) VIRTUAL,
    -- SIC major group.
    industry          INTEGER GENERATED ALWAYS AS (sic / 100) VIRTUAL,
    -- The ticker as the form states it.
    symbol            TEXT,
    form              TEXT NOT NULL,
    -- The form without /A.
    base              TEXT NOT NULL,
    is_amendment      INTEGER NOT NULL,
    period            TEXT NOT NULL,
    -- Of an amendment: filing date of the form it amends.
    original_date     TEXT,
    filed_at          TEXT,
    filed_day         INTEGER NOT NULL,
    -- The latest day that the form reports on.
    as_of             TEXT NOT NULL,
    is_late           INTEGER,
    -- Business days from the transaction to the filing.
    business_days     INTEGER,
    -- Bits of the owners' roles: 1 director, 2 officer, 4 ten per cent owner, 8 other, 16 top executive.
    roles             INTEGER NOT NULL,
    document          TEXT,
    stored_at         TEXT NOT NULL,
    owner_count       INTEGER NOT NULL,
    nonderiv_trans    INTEGER NOT NULL,
    nonderiv_holdings INTEGER NOT NULL,
    deriv_trans       INTEGER NOT NULL,
    deriv_holdings    INTEGER NOT NULL,
    footnote_count    INTEGER NOT NULL,
    -- 1: amendments restate everything in it.
    is_superseded     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX insider_forms_by_day ON insider_forms (filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_type ON insider_forms (form, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_issuer ON insider_forms (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_sector ON insider_forms (sector, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_industry ON insider_forms (industry, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_period ON insider_forms (issuer_cik, period);
CREATE INDEX insider_forms_by_content ON insider_forms (content);
CREATE INDEX insider_forms_undated ON insider_forms (id) WHERE filed_at IS NULL;
CREATE INDEX insider_forms_amending ON insider_forms (issuer_cik, original_date) WHERE is_amendment = 1;
-- Reports on an issuer, by the day reported on.
CREATE INDEX insider_forms_by_event ON insider_forms (issuer_cik, as_of DESC, id DESC) WHERE is_superseded = 0;

-- A reporting owner of an ownership form.
CREATE TABLE insider_form_owners (
    owner_cik INTEGER NOT NULL REFERENCES insiders (cik),
    filed_day INTEGER NOT NULL,
    form_id   INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    -- Position on the form, from 0.
    position  INTEGER NOT NULL,
    roles     INTEGER NOT NULL,
    title     TEXT,
    -- Description of the role "other".
    other     TEXT,
    PRIMARY KEY (owner_cik, filed_day, form_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX insider_form_owners_by_form ON insider_form_owners (form_id, position);

-- A transaction reported on an ownership form.
CREATE TABLE insider_transactions (
    id                 INTEGER PRIMARY KEY,
    form_id            INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    seq                INTEGER NOT NULL,
    filed_day          INTEGER NOT NULL,
    issuer_cik         INTEGER NOT NULL,
    -- The first reporting owner.
    owner_cik          INTEGER NOT NULL,
    -- Roles of all owners together, as in insider_forms.
    roles              INTEGER NOT NULL,
    sic                INTEGER,
    -- SIC division (sectors.tsv names them).
    sector             TEXT GENERATED ALWAYS AS (CASE
        WHEN sic IS NULL THEN NULL WHEN sic < 1000 THEN 'A' WHEN sic < 1500 THEN 'B' WHEN sic < 2000 THEN 'C'
        WHEN sic < 4000 THEN 'D' WHEN sic < 5000 THEN 'E' WHEN sic < 5200 THEN 'F' WHEN sic < 6000 THEN 'G'
        WHEN sic < 7000 THEN 'H' WHEN sic < 9000 THEN 'I' WHEN sic < 9900 THEN 'J' ELSE 'K' END) VIRTUAL,
    -- SIC major group.
    industry           INTEGER GENERATED ALWAYS AS (sic / 100) VIRTUAL,
    derivative         INTEGER NOT NULL,
    title              TEXT,
    date               TEXT,
    -- The SEC's transaction code.
    code               TEXT,
    -- Type in finapi's words, derived from code.
    standard_type      TEXT NOT NULL,
    -- 1: purchase in the market, -1: sale in the market, 0: anything else.
    direction          INTEGER NOT NULL,
    acquired_disposed  TEXT,
    shares             TEXT,
    price              TEXT,
    -- Rounded to dollars, for sorting.
    value              INTEGER,
    -- Shares held after it.
    following_shares   TEXT,
    -- Value held after it, where the form states dollars.
    following_value    TEXT,
    -- Nature of indirect ownership.
    nature             TEXT,
    -- D: direct, I: indirect.
    ownership          TEXT,
    -- JSON: footnotes that explain missing figures.
    figure_notes       TEXT,
    rule_10b5_1        INTEGER NOT NULL,
    -- Where the trading plan is stated: checkbox, footnote, remarks or not_stated.
    plan_source        TEXT NOT NULL,
    is_cashless        INTEGER NOT NULL,
    is_sell_to_cover   INTEGER NOT NULL,
    -- Hash of issuer, day, code, direction and shares: equal for rows that may report the same trade.
    trade              INTEGER NOT NULL,
    -- Id of the row of another form that reports the same trade and stands for it in sums. NULL: this row does.
    same_trade_as      INTEGER,
    -- Evidence that the price is wrong: such a row is left out of sums. NULL: none.
    value_doubt        TEXT,
    -- Id of the amendment that restates it.
    superseded_by      INTEGER,
    -- Unrounded value in dollars, for sums.
    exact              REAL GENERATED ALWAYS AS (
        CASE WHEN value IS NULL THEN NULL WHEN shares IS NULL OR price IS NULL THEN value ELSE shares * price END
    ) VIRTUAL,
    -- Shares in per cent of the holding before the transaction, to four places.
    percent_of_holding REAL,
    UNIQUE (form_id, seq)
) STRICT;

-- superseded_by and same_trade_as are part of the indexes and not conditions, because a row that is restated or repeats
-- another one today may have been valid or the only one before.
CREATE INDEX insider_transactions_by_day
    ON insider_transactions (filed_day DESC, form_id DESC, seq DESC, superseded_by);
CREATE INDEX insider_transactions_by_type
    ON insider_transactions (standard_type, filed_day DESC, form_id DESC, seq DESC, superseded_by);
CREATE INDEX insider_transactions_by_sector
    ON insider_transactions (sector, filed_day DESC, form_id DESC, seq DESC, standard_type, superseded_by);
CREATE INDEX insider_transactions_by_industry
    ON insider_transactions (industry, filed_day DESC, form_id DESC, seq DESC, standard_type, superseded_by);
CREATE INDEX insider_transactions_by_issuer
    ON insider_transactions (issuer_cik, filed_day DESC, form_id DESC, seq DESC, superseded_by);
-- Sums and rankings count a trade once, and not if its value is doubtful.
CREATE INDEX insider_transactions_by_sector_value
    ON insider_transactions (
        direction, sector, value DESC, filed_day DESC, form_id DESC, seq DESC, same_trade_as, superseded_by
    )
    WHERE direction <> 0 AND value_doubt IS NULL;
CREATE INDEX insider_transactions_by_industry_value
    ON insider_transactions (
        direction, industry, value DESC, filed_day DESC, form_id DESC, seq DESC, same_trade_as, superseded_by
    )
    WHERE direction <> 0 AND value_doubt IS NULL;
CREATE INDEX insider_trades_by_day
    ON insider_transactions (filed_day, same_trade_as, superseded_by)
    WHERE direction <> 0;
CREATE INDEX insider_transactions_by_trade ON insider_transactions (trade);
CREATE INDEX insider_transactions_by_date
    ON insider_transactions (date, filed_day DESC, form_id DESC, seq DESC, superseded_by);
CREATE INDEX insider_transactions_by_code
    ON insider_transactions (code, filed_day DESC, form_id DESC, seq DESC, superseded_by);
CREATE INDEX insider_transactions_by_value
    ON insider_transactions (
        direction, value DESC, filed_day DESC, form_id DESC, seq DESC, same_trade_as, value_doubt, superseded_by
    );
CREATE INDEX insider_purchases_by_date
    ON insider_transactions (date, issuer_cik, owner_cik, same_trade_as, superseded_by)
    WHERE direction = 1 AND value_doubt IS NULL;
-- Prices that are compared with each other.
CREATE INDEX insider_prices
    ON insider_transactions (issuer_cik, date, price, value_doubt, superseded_by)
    WHERE derivative = 0 AND code IN ('P', 'S', 'F', 'D') AND price > '0' AND shares > '0';
CREATE INDEX insider_doubted_trades
    ON insider_transactions (filed_day, issuer_cik, superseded_by)
    WHERE value_doubt IS NOT NULL;

CREATE TRIGGER insider_transactions_removed AFTER DELETE ON insider_transactions WHEN OLD.superseded_by IS NULL BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'insider_transactions';
END;

CREATE TRIGGER insider_transactions_superseded AFTER UPDATE OF superseded_by ON insider_transactions BEGIN
    UPDATE held_counts SET number = number + (NEW.superseded_by IS NULL) - (OLD.superseded_by IS NULL)
    WHERE name = 'insider_transactions';
END;

-- A company's SIC code may become known or change after its insiders' forms were stored.
CREATE TRIGGER insider_sic AFTER UPDATE OF sic ON companies WHEN NEW.sic IS NOT OLD.sic BEGIN
    UPDATE insider_transactions SET sic = NEW.sic
    WHERE form_id IN (SELECT id FROM insider_forms WHERE issuer_cik = NEW.cik);
    UPDATE insider_forms SET sic = NEW.sic WHERE issuer_cik = NEW.cik;
END;

-- A holding after an ownership form: one row for each class of securities and way of holding it.
CREATE TABLE insider_positions (
    form_id       INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    seq           INTEGER NOT NULL,
    -- Id of the form that it is listed under: its own, or an amendment that restates the form without this row.
    under         INTEGER NOT NULL,
    class         TEXT NOT NULL,
    title         TEXT,
    derivative    INTEGER NOT NULL,
    ownership     TEXT,
    nature        TEXT,
    -- How it is held: directly, or by a trust, a family member ...
    vehicle       TEXT NOT NULL,
    -- Shares, or the underlying shares of a derivative.
    amount        TEXT,
    -- JSON: footnotes that explain a missing amount.
    amount_notes  TEXT,
    -- Id of the amendment that restates it.
    superseded_by INTEGER,
    PRIMARY KEY (form_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX insider_positions_under ON insider_positions (under, derivative, class) WHERE superseded_by IS NULL;

-- A class of an issuer's securities that an insider has reported.
CREATE TABLE insider_stakes (
    id         INTEGER PRIMARY KEY,
    issuer_cik INTEGER NOT NULL,
    owner_cik  INTEGER NOT NULL,
    derivative INTEGER NOT NULL,
    class      TEXT NOT NULL,
    UNIQUE (issuer_cik, owner_cik, derivative, class)
) STRICT;

CREATE INDEX insider_stakes_by_owner ON insider_stakes (owner_cik, issuer_cik, derivative, class);

-- A form that reports on a stake. The latest one of a day is complete for its class (instructions of Form 4).
CREATE TABLE insider_stake_forms (
    stake_id  INTEGER NOT NULL REFERENCES insider_stakes (id),
    as_of     TEXT NOT NULL,
    filed_day INTEGER NOT NULL,
    form_id   INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    -- 1: replaced by an amendment.
    amended   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stake_id, as_of, filed_day, form_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX insider_stake_forms_by_form ON insider_stake_forms (form_id);

-- A word of a name, for searching.
CREATE TABLE insider_words (
    word TEXT NOT NULL,
    -- 0: an insider, 1: an issuer.
    kind INTEGER NOT NULL,
    cik  INTEGER NOT NULL,
    PRIMARY KEY (word, kind, cik)
) STRICT, WITHOUT ROWID;

-- For the SQL proxy: insiders.
CREATE VIEW insider AS
SELECT cik, name, is_entity FROM insiders;

-- For the SQL proxy: transactions as last amended, each row once, under its first owner. Rows with same_trade_as repeat a
-- trade of another form.
CREATE VIEW insider_transaction AS
SELECT form.accession AS accession_number, trade.seq, form.form AS form_type, form.filed_at, trade.issuer_cik,
    (
        SELECT ticker FROM tickers
        WHERE tickers.cik = trade.issuer_cik
        ORDER BY source DESC, last_seen DESC, position, ticker
        LIMIT 1
    ) AS symbol,
    trade.owner_cik AS insider_cik, insiders.name AS insider_name, trade.derivative,
    trade.title AS security_title, trade.date AS transaction_date, trade.code, trade.standard_type,
    trade.acquired_disposed, CAST(trade.shares AS REAL) AS shares, CAST(trade.price AS REAL) AS price, trade.value,
    CAST(trade.following_shares AS REAL) AS shares_following, trade.ownership, trade.nature, trade.rule_10b5_1,
    trade.value_doubt, first_form.accession || ':' || first_trade.seq AS same_trade_as
FROM insider_transactions AS trade
JOIN insider_forms AS form ON form.id = trade.form_id
JOIN insiders ON insiders.cik = trade.owner_cik
LEFT JOIN insider_transactions AS first_trade ON first_trade.id = trade.same_trade_as
LEFT JOIN insider_forms AS first_form ON first_form.id = first_trade.form_id
WHERE trade.superseded_by IS NULL;


-- ==================================================================================================================
-- 14. Securities (CUSIPs)
-- ==================================================================================================================

-- A security: a CUSIP in a 13F table or a mapping.
CREATE TABLE securities (
    id             INTEGER PRIMARY KEY,
    cusip          TEXT NOT NULL UNIQUE,
    -- As the newest 13F row writes it, else as mapped.
    issuer         TEXT NOT NULL,
    title          TEXT NOT NULL,
    -- Filing date and accession number of that row.
    seen           TEXT NOT NULL,
    -- The issuer's name in normalised form.
    issuer_key     TEXT NOT NULL,
    -- Letter of the share class.
    class_letter   TEXT,
    -- Kind of security: Stocks, ETFs ... (market/reference/issuer_names.py).
    security_group TEXT NOT NULL,
    -- The ticker concluded from evidence. NULL: unknown.
    ticker         TEXT,
    -- The issuer concluded from evidence. NULL: unknown.
    cik            INTEGER REFERENCES companies (cik),
    -- Source of ticker and cik: csv (a mapping), fails_to_deliver, 13f_list or name.
    evidence       TEXT,
    -- The issuer's SIC major group, maintained by triggers.
    sic_group      INTEGER
) STRICT;

CREATE INDEX securities_by_ticker ON securities (ticker);
CREATE INDEX securities_by_company ON securities (cik);
CREATE INDEX securities_by_issuer ON securities (issuer_key);

CREATE TRIGGER companies_classified AFTER UPDATE OF sic ON companies WHEN OLD.sic IS NOT NEW.sic BEGIN
    UPDATE securities SET sic_group = NEW.sic / 100 WHERE cik = NEW.cik;
END;

CREATE TRIGGER securities_assigned AFTER UPDATE OF cik ON securities WHEN OLD.cik IS NOT NEW.cik BEGIN
    UPDATE securities SET sic_group = (SELECT sic / 100 FROM companies WHERE companies.cik = NEW.cik)
    WHERE id = NEW.id;
END;

-- A new ticker changes the returns of the funds that hold the security.
CREATE TRIGGER quarter_returns_ticked AFTER UPDATE OF ticker ON securities WHEN OLD.ticker IS NOT NEW.ticker BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period IN (
        SELECT quarter_returns.period FROM price_series
        JOIN quarter_returns ON quarter_returns.series_id = price_series.id
        WHERE price_series.ticker IN (OLD.ticker, NEW.ticker)
    );
END;

-- A word of an issuer's name, for searching.
CREATE TABLE security_words (
    word        TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    PRIMARY KEY (word, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX security_words_by_security ON security_words (security_id);

-- A row of a CUSIP mapping loaded by the operator. Of two rows for a CUSIP, the one with the later as_of counts.
CREATE TABLE cusip_mappings (
    cusip          TEXT PRIMARY KEY,
    ticker         TEXT,
    cik            INTEGER,
    issuer         TEXT,
    security_group TEXT,
    figi           TEXT,
    -- The CUSIP that replaced it.
    successor      TEXT,
    effective_date TEXT,
    reason         TEXT,
    as_of          TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX cusip_mappings_by_successor ON cusip_mappings (successor);
CREATE INDEX cusip_mappings_by_ticker ON cusip_mappings (ticker);
CREATE INDEX cusip_mappings_by_company ON cusip_mappings (cik);

-- The SEC's list of failures to deliver: the ticker a security was last listed under.
CREATE TABLE failed_securities (
    cusip  TEXT PRIMARY KEY,
    ticker TEXT NOT NULL,
    name   TEXT NOT NULL,
    as_of  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX failed_securities_by_ticker ON failed_securities (ticker);

-- A security of the SEC's official list of 13F securities.
CREATE TABLE listed_securities (cusip TEXT PRIMARY KEY, status TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- For the SQL proxy: securities.
CREATE VIEW security AS
SELECT cusip, issuer, title, security_group, ticker AS symbol, cik, evidence FROM securities;

-- Splits of securities in shares. Splits of price files take precedence over those that filings state.
CREATE VIEW security_splits AS
SELECT securities.id AS security_id, action.value AS factor, 'prices' AS source, action.date,
    date(action.date, '-1 day') AS after, action.date AS until
FROM price_actions AS action
JOIN price_series ON price_series.id = action.series_id AND NOT price_series.synthetic
JOIN securities ON securities.ticker = price_series.ticker
WHERE action.kind = 'split'
UNION ALL
SELECT securities.id, filed.factor, filed.accession, filed.date, filed.after, filed.until
FROM filed_splits AS filed
JOIN securities ON securities.cik = filed.cik
    AND securities.ticker IN (SELECT ticker FROM share_tickers WHERE share_tickers.cik = filed.cik)
WHERE NOT EXISTS (
    SELECT 1 FROM price_series AS priced
    JOIN price_actions AS told ON told.series_id = priced.id AND told.kind = 'split'
    WHERE priced.ticker = securities.ticker AND NOT priced.synthetic
        AND abs(told.value - filed.factor) < 0.01 * filed.factor
        AND told.date BETWEEN date(filed.after, '-45 days') AND date(filed.until, '+45 days')
);


-- ==================================================================================================================
-- 15. Form 13F: funds and their holdings
-- ==================================================================================================================

-- A manager that files Form 13F.
CREATE TABLE funds (
    cik             INTEGER PRIMARY KEY REFERENCES companies (cik),
    name            TEXT NOT NULL,
    -- Filing date that the name is from.
    name_as_of      TEXT NOT NULL,
    -- Number of stored 13F filings.
    filing_count    INTEGER NOT NULL,
    latest_period   TEXT,
    latest_filed_at TEXT,
    -- Dollars.
    latest_value    INTEGER
) STRICT;

CREATE INDEX funds_by_value ON funds (latest_value DESC, cik);

-- A word of a fund's name, for searching.
CREATE TABLE fund_words (
    word TEXT NOT NULL,
    cik  INTEGER NOT NULL REFERENCES funds (cik),
    PRIMARY KEY (word, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_words_by_fund ON fund_words (cik, word);

-- The documents of a 13F filing. Amounts are in the filing's own unit, dollars or thousands of dollars.
CREATE TABLE holdings_reports (
    id                   INTEGER PRIMARY KEY,
    filing_id            INTEGER NOT NULL REFERENCES filings (id),
    cik                  INTEGER NOT NULL REFERENCES funds (cik),
    -- As in filings.
    accession            TEXT NOT NULL,
    -- As in filings; '' when unknown.
    filed_at             TEXT NOT NULL,
    sha256               BLOB NOT NULL,
    form                 TEXT NOT NULL,
    period               TEXT NOT NULL,
    -- 13F HOLDINGS REPORT, 13F NOTICE or 13F COMBINATION REPORT.
    report_type          TEXT,
    -- RESTATEMENT or NEW HOLDINGS.
    amendment_type       TEXT,
    amendment_number     INTEGER NOT NULL,
    name                 TEXT NOT NULL,
    address              TEXT,
    file_number          TEXT,
    signer               TEXT,
    signer_title         TEXT,
    signed               TEXT,
    -- Number of rows that the cover states.
    entry_total          INTEGER,
    -- Total value that the cover states.
    value_total          INTEGER,
    -- 1: the cover states that holdings were omitted.
    confidential_omitted INTEGER NOT NULL,
    -- Rows in the table.
    row_count            INTEGER NOT NULL,
    -- Sum of the rows' values.
    row_value            INTEGER NOT NULL,
    -- Rows of row_count that are not stored, because they have a placeholder for a CUSIP.
    rejected_count       INTEGER NOT NULL DEFAULT 0,
    -- Dollars in a unit of the rows: 1 or 1000.
    value_unit           INTEGER NOT NULL,
    -- Dollars in a unit of the cover's total.
    total_unit           INTEGER NOT NULL,
    -- The unit and the evidence for it: dollars:filing_date.
    value_unit_rule      TEXT NOT NULL,
    -- 1: the evidence contradicts the unit that the form prescribes.
    corrected            INTEGER NOT NULL,
    -- Number of documents.
    documents            INTEGER NOT NULL,
    UNIQUE (filing_id, sha256)
) STRICT;

CREATE INDEX holdings_reports_by_fund ON holdings_reports (cik, period, filed_at);
CREATE INDEX holdings_reports_by_day ON holdings_reports (filed_at DESC, accession DESC);
CREATE INDEX holdings_reports_by_period ON holdings_reports (period, form, cik);
CREATE INDEX holdings_reports_by_accession ON holdings_reports (accession);

CREATE TRIGGER holdings_added AFTER INSERT ON holdings_reports BEGIN
    UPDATE held_counts SET number = number + NEW.row_count - NEW.rejected_count WHERE name = 'holdings';
END;

CREATE TRIGGER holdings_removed AFTER DELETE ON holdings_reports BEGIN
    UPDATE held_counts SET number = number - OLD.row_count + OLD.rejected_count WHERE name = 'holdings';
END;

-- A manager on the cover of a 13F report.
CREATE TABLE holdings_managers (
    report_id   INTEGER NOT NULL REFERENCES holdings_reports (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    number      INTEGER,
    name        TEXT NOT NULL,
    cik         INTEGER,
    file_number TEXT,
    -- 1: its holdings are in this report, 0: it reports for this manager.
    included    INTEGER NOT NULL,
    PRIMARY KEY (report_id, seq)
) STRICT, WITHOUT ROWID;

-- The issuer and class of a row as filed.
CREATE TABLE holding_names (
    id     INTEGER PRIMARY KEY,
    issuer TEXT NOT NULL,
    title  TEXT NOT NULL,
    UNIQUE (issuer, title)
) STRICT;

-- A row of a 13F table as filed.
CREATE TABLE holdings (
    report_id   INTEGER NOT NULL REFERENCES holdings_reports (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    name_id     INTEGER NOT NULL REFERENCES holding_names (id),
    -- 0: shares, 1: principal amount, 2: call options, 3: put options.
    kind        INTEGER NOT NULL,
    -- 1: amount is a principal amount.
    principal   INTEGER NOT NULL,
    -- In units of holdings_reports.value_unit.
    value       INTEGER NOT NULL,
    amount      INTEGER NOT NULL,
    figi        TEXT,
    -- Investment discretion: SOLE, DFND or OTR.
    discretion  TEXT,
    -- Numbers of the other managers, as filed.
    managers    TEXT,
    -- Voting authority, in shares.
    sole        INTEGER,
    shared      INTEGER,
    none        INTEGER,
    PRIMARY KEY (report_id, seq)
) STRICT, WITHOUT ROWID;

-- A report whose filing date has changed since its quarters were computed.
CREATE TABLE holdings_redated (
    report_id INTEGER PRIMARY KEY REFERENCES holdings_reports (id) ON DELETE CASCADE
) STRICT;

-- A fund's position in a security at the end of a quarter, or one that it closed during the quarter. The reports of the
-- quarter are united, rows of one security added up.
CREATE TABLE positions (
    cik             INTEGER NOT NULL REFERENCES funds (cik),
    period          TEXT NOT NULL,
    -- As in holdings.
    kind            INTEGER NOT NULL,
    security_id     INTEGER NOT NULL REFERENCES securities (id),
    -- The report that the position is from.
    report_id       INTEGER NOT NULL REFERENCES holdings_reports (id),
    name_id         INTEGER NOT NULL REFERENCES holding_names (id),
    row_count       INTEGER NOT NULL,
    shares          INTEGER NOT NULL,
    -- Dollars.
    value           INTEGER NOT NULL,
    -- 0: unknown, 1: new, 2: increased, 3: decreased, 4: unchanged, 5: closed.
    status          INTEGER NOT NULL,
    -- Shares a quarter before, adjusted by split_factor. NULL: unknown.
    previous_shares INTEGER,
    -- Dollars a quarter before.
    previous_value  INTEGER,
    -- Dollars bought (positive) or sold (negative) during the quarter.
    flow            INTEGER,
    figi            TEXT,
    discretion      TEXT,
    managers        TEXT,
    sole            INTEGER,
    shared          INTEGER,
    none            INTEGER,
    -- Shares that a share of the quarter before became.
    split_factor    TEXT,
    -- Dollars that the shares cost at the prices of the quarters in which they were bought. NULL: unknown, because
    -- the position is older than the stored reports.
    cost            INTEGER,
    -- The quarter in which the position was opened. NULL: unknown.
    opened          TEXT,
    -- The last quarter in which it changed.
    changed         TEXT,
    -- What states the split: "prices" or the accession number of a filing.
    split_source    TEXT,
    PRIMARY KEY (cik, period, kind, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX positions_by_security ON positions (security_id, period, kind, value DESC, cik, status);
CREATE INDEX positions_by_flow ON positions (period, status, abs(flow) DESC, cik, security_id)
    WHERE kind = 0 AND flow IS NOT NULL;

-- Number of positions in shares that a fund has in an SIC major group in a quarter, so that funds of an industry are
-- counted without reading positions. The code that stores a quarter inserts its rows (market/holdings/holdings_store.py);
-- triggers follow deleted positions and changed SIC codes.
CREATE TABLE fund_groups (
    sic_group INTEGER NOT NULL,
    period    TEXT NOT NULL,
    cik       INTEGER NOT NULL REFERENCES funds (cik),
    positions INTEGER NOT NULL,
    PRIMARY KEY (sic_group, period, cik)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER positions_removed AFTER DELETE ON positions WHEN OLD.kind = 0 AND OLD.status <> 5 BEGIN
    UPDATE fund_groups SET positions = positions - 1
    WHERE period = OLD.period AND cik = OLD.cik
        AND sic_group = (SELECT sic_group FROM securities WHERE id = OLD.security_id);
    DELETE FROM fund_groups
    WHERE period = OLD.period AND cik = OLD.cik AND positions = 0
        AND sic_group = (SELECT sic_group FROM securities WHERE id = OLD.security_id);
END;

CREATE TRIGGER securities_classified AFTER UPDATE OF sic_group ON securities
WHEN OLD.sic_group IS NOT NEW.sic_group BEGIN
    UPDATE fund_groups SET positions = positions - 1
    WHERE sic_group = OLD.sic_group
        AND (period, cik) IN (
            SELECT period, cik FROM positions WHERE security_id = NEW.id AND kind = 0 AND status <> 5
        );
    DELETE FROM fund_groups WHERE sic_group = OLD.sic_group AND positions = 0;
    INSERT INTO fund_groups
    SELECT NEW.sic_group, period, cik, 1 FROM positions
    WHERE security_id = NEW.id AND kind = 0 AND status <> 5 AND NEW.sic_group IS NOT NULL
    ON CONFLICT (sic_group, period, cik) DO UPDATE SET positions = positions + 1;
END;

-- A fund's quarter: its main report and totals over positions of every kind.
CREATE TABLE fund_quarters (
    cik       INTEGER NOT NULL REFERENCES funds (cik),
    period    TEXT NOT NULL,
    -- The report that stands for the quarter.
    report_id INTEGER NOT NULL REFERENCES holdings_reports (id),
    -- Number of reports united in it.
    reports   INTEGER NOT NULL,
    -- 1: the table has as many rows as its cover states, and amendments have a base report.
    complete  INTEGER NOT NULL,
    -- 1: positions were compared with the quarter before.
    compared  INTEGER NOT NULL,
    -- Dollars. Where rows are missing, the total that the cover states.
    value     INTEGER NOT NULL,
    -- Number of positions.
    positions INTEGER NOT NULL,
    -- Number of those that are options.
    options   INTEGER NOT NULL,
    -- Number of positions opened; the next four columns count the other statuses.
    new       INTEGER,
    increased INTEGER,
    decreased INTEGER,
    unchanged INTEGER,
    closed    INTEGER,
    -- 1: every report was filed before the quarter ended, so its period is wrong. Such a quarter is not a default.
    is_early  INTEGER NOT NULL DEFAULT 0,
    -- Number of positions that a doubtful restatement drops. They stay as reported before.
    retained  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cik, period)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_quarters_ended ON fund_quarters (period) WHERE is_early = 0;
CREATE INDEX fund_quarters_by_value ON fund_quarters (period, value DESC, cik);

-- A security's quarter over all funds, in shares only. The columns from compared to closed are of funds that reported
-- both this quarter and the one before completely.
CREATE TABLE security_quarters (
    period          TEXT NOT NULL,
    security_id     INTEGER NOT NULL REFERENCES securities (id),
    -- Number of funds that hold it.
    funds           INTEGER NOT NULL,
    shares          INTEGER NOT NULL,
    -- Dollars.
    value           INTEGER NOT NULL,
    -- Number of funds compared.
    compared        INTEGER NOT NULL,
    compared_shares INTEGER NOT NULL,
    previous_shares INTEGER NOT NULL,
    -- Dollars bought less dollars sold.
    flow            INTEGER NOT NULL,
    bought          INTEGER NOT NULL,
    sold            INTEGER NOT NULL,
    -- Number of funds that opened a position; the next four columns count the other statuses.
    new             INTEGER NOT NULL,
    increased       INTEGER NOT NULL,
    decreased       INTEGER NOT NULL,
    unchanged       INTEGER NOT NULL,
    closed          INTEGER NOT NULL,
    -- Dollars per share that most of the 25 largest positions imply. NULL: fewer than three funds, or no agreement.
    price           REAL,
    PRIMARY KEY (period, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX security_quarters_by_security ON security_quarters (security_id, period);

-- Sums of the securities of a quarter by SIC major group, and the number of funds of each sector and industry.
CREATE TABLE group_sums (
    period TEXT PRIMARY KEY,
    -- JSON object. NULL: to be computed again.
    sums   TEXT
) STRICT, WITHOUT ROWID;

CREATE TRIGGER group_sums_changed AFTER UPDATE OF sic_group, security_group ON securities
WHEN OLD.sic_group IS NOT NEW.sic_group OR OLD.security_group IS NOT NEW.security_group BEGIN
    UPDATE group_sums SET sums = NULL
    WHERE sums IS NOT NULL
        AND EXISTS (
            SELECT 1 FROM security_quarters AS quarter
            WHERE quarter.security_id = NEW.id AND quarter.period = group_sums.period
        );
END;

-- A quarter of a security whose positions must be adjusted again because a split or its ticker changed.
CREATE TABLE holdings_resplit (
    security_id INTEGER NOT NULL REFERENCES securities (id),
    period      TEXT NOT NULL,
    PRIMARY KEY (security_id, period)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER securities_ticked AFTER UPDATE OF ticker ON securities WHEN OLD.ticker IS NOT NEW.ticker BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT NEW.id, period FROM split_quarters WHERE ticker IN (OLD.ticker, NEW.ticker);
END;

CREATE TRIGGER securities_of_splits AFTER UPDATE OF ticker, cik ON securities
WHEN (OLD.ticker, OLD.cik) IS NOT (NEW.ticker, NEW.cik) BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT NEW.id, period FROM filed_split_quarters WHERE cik IN (OLD.cik, NEW.cik);
END;

CREATE TRIGGER tickers_of_splits_added AFTER INSERT ON tickers BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik WHERE told.cik = NEW.cik;
END;

CREATE TRIGGER tickers_of_splits_removed AFTER DELETE ON tickers BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik WHERE told.cik = OLD.cik;
END;

-- A quarter of a security whose price (security_quarters.price) must be computed again.
CREATE TABLE securities_unpriced (
    period      TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    PRIMARY KEY (period, security_id)
) STRICT, WITHOUT ROWID;

-- A position whose price per share is at least a hundred times higher or lower than security_quarters.price.
CREATE TABLE positions_far_off (
    period      TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    cik         INTEGER NOT NULL REFERENCES funds (cik),
    PRIMARY KEY (period, security_id, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX positions_far_off_by_fund ON positions_far_off (cik, period);

-- A quarter of a fund whose positions must be compared with security_quarters.price again.
CREATE TABLE fund_quarters_uncompared (
    cik    INTEGER NOT NULL REFERENCES funds (cik),
    period TEXT NOT NULL,
    PRIMARY KEY (cik, period)
) STRICT, WITHOUT ROWID;

-- A fund whose positions' cost must be computed again, from a quarter on.
CREATE TABLE funds_uncounted (
    cik    INTEGER PRIMARY KEY REFERENCES funds (cik),
    -- The first quarter to compute.
    period TEXT NOT NULL
) STRICT;

-- The return over a quarter of the shares that a fund held at its beginning.
CREATE TABLE fund_returns (
    period     TEXT NOT NULL,
    cik        INTEGER NOT NULL REFERENCES funds (cik),
    -- Number of positions in shares.
    holdings   INTEGER NOT NULL,
    -- Dollars of them at the beginning.
    value      INTEGER NOT NULL,
    -- Dollars of those with prices at the beginning and the end.
    priced     INTEGER NOT NULL,
    -- Number of those whose prices are not adjusted for splits and dividends.
    unadjusted INTEGER NOT NULL,
    -- Dollars gained by those with prices.
    gain       INTEGER NOT NULL,
    -- JSON of the positions that gained most: ticker, return and gain.
    best       TEXT NOT NULL,
    -- JSON of the positions that lost most.
    worst      TEXT NOT NULL,
    -- The fund's return: 0.05 is five per cent. NULL: less than 80 per cent of the value has prices (LEAST_COVERAGE
    -- in market/holdings/fund_returns.py).
    earned     REAL
        AS (CASE WHEN priced > 0 AND priced * 100 >= value * 80 THEN gain * 1.0 / priced END) VIRTUAL,
    PRIMARY KEY (period, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_returns_by_fund ON fund_returns (cik, period);
CREATE INDEX fund_returns_by_return ON fund_returns (period, earned DESC, value DESC, cik, holdings, priced);

-- 13F filings as lists, feeds and webhooks show them, with the changes in their quarter.
CREATE VIEW fund_filings AS
SELECT report.id, report.cik AS fund_cik, report.filed_at AS filed_day, report.accession AS accession_no,
    report.name AS fund_name, printf('%010d', report.cik) AS cik, report.period AS period_of_report,
    nullif(report.filed_at, '') AS filed_at, report.value_total * report.total_unit AS table_value_total,
    report.row_count AS holdings_count,
    report.form AS form_type, report.form GLOB '*/A' AS is_amendment,
    coalesce(quarter.compared, 0) AS prior_quarter_available, quarter.new, quarter.increased, quarter.decreased,
    quarter.unchanged, quarter.closed, nullif(filings.first_seen_at, '') AS parsed_at
FROM holdings_reports AS report
JOIN filings ON filings.id = report.filing_id
LEFT JOIN fund_quarters AS quarter ON quarter.cik = report.cik AND quarter.period = report.period;

-- For the SQL proxy: funds.
CREATE VIEW fund AS
SELECT cik, name, filing_count, latest_period, latest_filed_at, latest_value FROM funds;

-- For the SQL proxy: quarters of funds.
CREATE VIEW fund_quarter AS
SELECT fund_quarters.cik AS fund_cik, fund_quarters.period, holdings_reports.accession AS accession_number,
    nullif(holdings_reports.filed_at, '') AS filed_at, fund_quarters.complete, fund_quarters.value,
    fund_quarters.positions AS position_count, fund_quarters.options AS option_count
FROM fund_quarters
JOIN holdings_reports ON holdings_reports.id = fund_quarters.report_id;

-- For the SQL proxy: positions.
CREATE VIEW holding AS
SELECT positions.cik AS fund_cik, positions.period, securities.cusip, securities.issuer, securities.ticker AS symbol,
    CASE positions.kind WHEN 0 THEN 'shares' WHEN 1 THEN 'principal' WHEN 2 THEN 'call' ELSE 'put' END AS kind,
    positions.shares, positions.value,
    CASE positions.status WHEN 1 THEN 'new' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'unchanged'
        WHEN 5 THEN 'closed' END AS status,
    positions.previous_shares, positions.previous_value
FROM positions
JOIN securities ON securities.id = positions.security_id;


-- ==================================================================================================================
-- 16. Beneficial owners (Schedules 13D and 13G), proposed sales (Form 144) and holders
-- ==================================================================================================================

-- A Schedule 13D or 13G. Its figures are those of the lead, the person who reports the most shares. Figures of several
-- persons are never added up, because joint filers report the same shares.
CREATE TABLE schedule_filings (
    -- The accession number as 18 digits. While the filing is not known, a negative number made of the hash.
    id            INTEGER PRIMARY KEY,
    accession     TEXT NOT NULL UNIQUE,
    -- SHA-256 of the document.
    content       BLOB NOT NULL,
    -- 0: the submission's header, which states the parties only, 1: the document.
    source        INTEGER NOT NULL,
    form          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('13D', '13G')),
    is_amendment  INTEGER NOT NULL,
    -- Number of the amendment.
    amendment     INTEGER,
    issuer_cik    INTEGER NOT NULL REFERENCES companies (cik),
    issuer_name   TEXT NOT NULL,
    -- '' when not stated.
    cusip         TEXT NOT NULL,
    title         TEXT,
    event_date    TEXT,
    filed_at      TEXT,
    filed_day     INTEGER NOT NULL,
    person_count  INTEGER NOT NULL,
    -- 1: a person states that it is a member of a group.
    is_group      INTEGER NOT NULL,
    -- 1: the filing states that five per cent or less are left.
    is_exit       INTEGER NOT NULL,
    -- Beginning of Item 4.
    purpose       TEXT,
    -- Bits of the purposes found in Item 4 (market/ownership/purposes.py). NULL: no Item 4.
    intents       INTEGER,
    -- schedule_persons.seq of the lead.
    lead_seq      INTEGER NOT NULL,
    lead_percent  TEXT,
    lead_shares   TEXT,
    -- The lead's previous filing about the same securities; the next four columns are its values.
    prior_id      INTEGER,
    prior_kind    TEXT,
    prior_source  INTEGER,
    prior_percent TEXT,
    prior_shares  TEXT,
    -- 1: no later filing of the lead about the same securities is known.
    is_latest     INTEGER NOT NULL DEFAULT 1,
    percent       REAL GENERATED ALWAYS AS (CAST(lead_percent AS REAL)) VIRTUAL
) STRICT;

CREATE INDEX schedule_filings_by_day ON schedule_filings (filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_issuer ON schedule_filings (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_percent ON schedule_filings (percent DESC, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_converted ON schedule_filings (filed_day DESC, id DESC) WHERE kind <> prior_kind;
CREATE INDEX schedule_filings_of_groups ON schedule_filings (filed_day DESC, id DESC) WHERE is_group AND is_latest;
CREATE INDEX schedule_filings_after ON schedule_filings (prior_id);
CREATE INDEX schedule_filings_by_content ON schedule_filings (content);
CREATE INDEX schedule_filings_undated ON schedule_filings (id) WHERE filed_at IS NULL;
-- Reports on an issuer, by the day reported on.
CREATE INDEX schedule_filings_by_event
    ON schedule_filings (issuer_cik, coalesce(event_date, filed_at, '') DESC, id DESC);

-- The document of a Schedule 13D or 13G. The other tables are built from it.
CREATE TABLE schedule_bodies (
    filing_id INTEGER PRIMARY KEY REFERENCES schedule_filings (id) ON DELETE CASCADE,
    -- File name of the document.
    document  TEXT,
    -- JSON of everything the document states.
    body      BLOB NOT NULL
) STRICT;

-- A reporting person of a Schedule 13D or 13G.
CREATE TABLE schedule_persons (
    id                 INTEGER PRIMARY KEY,
    filing_id          INTEGER NOT NULL REFERENCES schedule_filings (id) ON DELETE CASCADE,
    seq                INTEGER NOT NULL,
    -- The UUID of the holder in holders.
    holder             TEXT NOT NULL,
    cik                INTEGER,
    name               TEXT NOT NULL,
    -- Membership in a group: a or b, as on the cover.
    member             TEXT,
    citizenship        TEXT,
    -- Codes of the type of person, as on the cover.
    types              TEXT NOT NULL,
    shares             TEXT,
    percent            TEXT,
    sole_voting        TEXT,
    shared_voting      TEXT,
    sole_dispositive   TEXT,
    shared_dispositive TEXT,
    issuer_cik         INTEGER NOT NULL,
    cusip              TEXT NOT NULL,
    filed_day          INTEGER NOT NULL,
    -- The person's row in the previous filing about the same securities.
    prior_id           INTEGER,
    -- 1: no later row of the same holder and securities is known.
    is_current         INTEGER NOT NULL DEFAULT 1,
    UNIQUE (filing_id, seq)
) STRICT;

CREATE INDEX schedule_persons_by_holder ON schedule_persons (holder, filed_day DESC, filing_id DESC);
CREATE INDEX schedule_persons_by_cik ON schedule_persons (cik, filed_day DESC, filing_id DESC);
CREATE INDEX schedule_persons_by_chain ON schedule_persons (issuer_cik, holder, filed_day, filing_id);
CREATE INDEX schedule_persons_current ON schedule_persons (issuer_cik, filed_day DESC, filing_id DESC) WHERE is_current;
CREATE INDEX schedule_persons_after ON schedule_persons (prior_id);

-- A word of a holder's name, for searching.
CREATE TABLE schedule_words (
    word   TEXT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (word, holder)
) STRICT, WITHOUT ROWID;

-- A Form 144: a notice of a proposed sale.
CREATE TABLE sale_notices (
    -- As in schedule_filings.
    id           INTEGER PRIMARY KEY,
    accession    TEXT NOT NULL UNIQUE,
    -- SHA-256 of the document.
    content      BLOB NOT NULL,
    form         TEXT NOT NULL,
    is_amendment INTEGER NOT NULL,
    issuer_cik   INTEGER NOT NULL REFERENCES companies (cik),
    issuer_name  TEXT NOT NULL,
    -- Whose credentials filed it. The form states the seller by name only.
    filer_cik    INTEGER,
    seller       TEXT NOT NULL,
    filed_at     TEXT,
    filed_day    INTEGER NOT NULL,
    -- First day on which securities are to be sold.
    sale_date    TEXT,
    -- File name of the document.
    document     TEXT,
    -- JSON of everything the document states.
    body         BLOB NOT NULL
) STRICT;

CREATE INDEX sale_notices_by_day ON sale_notices (filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_issuer ON sale_notices (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_filer ON sale_notices (filer_cik, filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_content ON sale_notices (content);
CREATE INDEX sale_notices_undated ON sale_notices (id) WHERE filed_at IS NULL;
-- Notices about an issuer, by the day of the sale.
CREATE INDEX sale_notices_by_event ON sale_notices (issuer_cik, coalesce(sale_date, filed_at, '') DESC, id DESC);

-- Securities to be sold by a Form 144.
CREATE TABLE sale_notice_lines (
    notice_id   INTEGER NOT NULL REFERENCES sale_notices (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    title       TEXT,
    broker      TEXT,
    -- Number of shares.
    units       TEXT,
    -- Dollars.
    value       TEXT,
    -- Shares outstanding.
    outstanding TEXT,
    date        TEXT,
    exchange    TEXT,
    PRIMARY KEY (notice_id, seq)
) STRICT, WITHOUT ROWID;

-- A holder that files any form about holdings, with the number of its stored filings. Maintained by triggers.
CREATE TABLE holders (
    -- A UUID made of the CIK, or of the name where no CIK is stated.
    id        TEXT PRIMARY KEY,
    cik       INTEGER,
    -- Number of forms 3, 4 and 5.
    form_4    INTEGER NOT NULL DEFAULT 0,
    -- Number of 13F filings.
    form_13f  INTEGER NOT NULL DEFAULT 0,
    -- Number of Schedules 13D and 13G.
    form_13dg INTEGER NOT NULL DEFAULT 0,
    filings   INTEGER GENERATED ALWAYS AS (form_4 + form_13f + form_13dg) VIRTUAL
) STRICT;

CREATE INDEX holders_by_filings ON holders (filings DESC, id, form_4, form_13f, form_13dg);

CREATE TRIGGER holders_form_4_added AFTER INSERT ON insider_form_owners BEGIN
    INSERT INTO holders (id, cik, form_4)
    VALUES (printf('f1a9c1c0-0000-8000-8000-%012d', NEW.owner_cik), NEW.owner_cik, 1)
    ON CONFLICT (id) DO UPDATE SET form_4 = form_4 + 1;
END;

CREATE TRIGGER holders_form_4_removed AFTER DELETE ON insider_form_owners BEGIN
    UPDATE holders SET form_4 = form_4 - 1 WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', OLD.owner_cik);
    DELETE FROM holders WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', OLD.owner_cik) AND filings = 0;
END;

CREATE TRIGGER holders_form_13f_counted AFTER UPDATE OF filing_count ON funds
WHEN NEW.filing_count <> OLD.filing_count BEGIN
    INSERT INTO holders (id, cik, form_13f)
    VALUES (printf('f1a9c1c0-0000-8000-8000-%012d', NEW.cik), NEW.cik, NEW.filing_count)
    ON CONFLICT (id) DO UPDATE SET form_13f = excluded.form_13f;
    DELETE FROM holders WHERE id = printf('f1a9c1c0-0000-8000-8000-%012d', NEW.cik) AND filings = 0;
END;

-- A person may appear twice on a cover; the filing counts once.
CREATE TRIGGER holders_form_13dg_added AFTER INSERT ON schedule_persons WHEN NOT EXISTS (
    SELECT 1 FROM schedule_persons WHERE filing_id = NEW.filing_id AND holder = NEW.holder AND seq <> NEW.seq
) BEGIN
    INSERT INTO holders (id, cik, form_13dg) VALUES (NEW.holder, NEW.cik, 1)
    ON CONFLICT (id) DO UPDATE SET form_13dg = form_13dg + 1;
END;

CREATE TRIGGER holders_form_13dg_removed AFTER DELETE ON schedule_persons WHEN NOT EXISTS (
    SELECT 1 FROM schedule_persons WHERE filing_id = OLD.filing_id AND holder = OLD.holder
) BEGIN
    UPDATE holders SET form_13dg = form_13dg - 1 WHERE id = OLD.holder;
    DELETE FROM holders WHERE id = OLD.holder AND filings = 0;
END;

-- For the SQL proxy: persons of Schedules 13D and 13G.
CREATE VIEW beneficial_ownership AS
SELECT filing.accession AS accession_number, filing.form AS form_type, filing.filed_at, filing.event_date,
    filing.issuer_cik, filing.issuer_name, nullif(filing.cusip, '') AS cusip, person.seq,
    person.seq = filing.lead_seq AS is_lead, person.cik AS holder_cik, person.name AS holder_name, person.member,
    CAST(person.shares AS REAL) AS shares, CAST(person.percent AS REAL) AS percent_of_class,
    CAST(person.sole_voting AS REAL) AS sole_voting, CAST(person.shared_voting AS REAL) AS shared_voting,
    person.is_current
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE filing.id > 0;

-- For the SQL proxy: lines of Forms 144.
CREATE VIEW proposed_sale AS
SELECT notice.accession AS accession_number, notice.form AS form_type, notice.filed_at, notice.issuer_cik,
    notice.issuer_name, notice.filer_cik, notice.seller, line.seq, line.title AS security_title, line.broker,
    CAST(line.units AS REAL) AS shares, CAST(line.value AS REAL) AS value, line.date AS approximate_sale_date
FROM sale_notices AS notice
JOIN sale_notice_lines AS line ON line.notice_id = notice.id
WHERE notice.id > 0;


-- ==================================================================================================================
-- 17. Funds and ETFs (Form N-PORT)
-- ==================================================================================================================

-- A share class of a fund, as the newest submission whose header lists it describes it.
CREATE TABLE fund_classes (
    -- The SEC's id: C and nine digits.
    class_id    TEXT PRIMARY KEY,
    -- The series that it belongs to: S and nine digits.
    series_id   TEXT NOT NULL,
    series_name TEXT,
    -- The registrant that the series belongs to.
    cik         INTEGER NOT NULL,
    name        TEXT,
    -- In the spelling of table tickers.
    ticker      TEXT,
    -- Filing date of that submission.
    filed_at    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_classes_by_ticker ON fund_classes (ticker) WHERE ticker IS NOT NULL;
CREATE INDEX fund_classes_by_series ON fund_classes (series_id, class_id);

-- An N-PORT report of a fund. An amendment is a complete report, which replaces the one of the same fund and period.
CREATE TABLE fund_reports (
    -- As in schedule_filings.
    id                INTEGER PRIMARY KEY,
    accession         TEXT NOT NULL UNIQUE,
    -- SHA-256 of the parsed document.
    content           BLOB NOT NULL,
    form              TEXT NOT NULL,
    is_amendment      INTEGER NOT NULL CHECK (is_amendment IN (0, 1)),
    -- The registrant: a trust or company.
    cik               INTEGER NOT NULL REFERENCES companies (cik),
    registrant_name   TEXT NOT NULL,
    -- The fund: its series id, or the registrant's CIK with ten digits if it has no series.
    fund_id           TEXT NOT NULL,
    series_id         TEXT,
    series_name       TEXT,
    -- The day that the figures are of.
    period            TEXT NOT NULL,
    -- End of the fund's fiscal year, which the form calls the end of the reporting period.
    fiscal_year_end   TEXT,
    -- 1: the fund will file no further report.
    is_final          INTEGER CHECK (is_final IN (0, 1)),
    filed_at          TEXT,
    -- File name of the document.
    document          TEXT,
    -- Dollars.
    total_assets      TEXT,
    total_liabilities TEXT,
    net_assets        TEXT,
    -- Dollars of shares sold, dividends reinvested and shares redeemed in the month that ends with the period.
    sales             TEXT,
    reinvestment      TEXT,
    redemption        TEXT,
    -- Total return of the first share class in that month, in per cent.
    class_return      TEXT,
    position_count    INTEGER NOT NULL,
    -- JSON list of the marks of figures that contradict each other.
    doubts            TEXT NOT NULL,
    -- 1: no other report of this fund and period replaces it.
    is_current        INTEGER NOT NULL DEFAULT 0 CHECK (is_current IN (0, 1)),
    -- 1: the current report of the fund's latest period.
    is_latest         INTEGER NOT NULL DEFAULT 0 CHECK (is_latest IN (0, 1)),
    parsed_at         TEXT NOT NULL,
    -- JSON of everything that the document states, but its positions.
    body              BLOB NOT NULL
) STRICT;

CREATE INDEX fund_reports_by_fund ON fund_reports (fund_id, period DESC, filed_at DESC, accession DESC);
CREATE INDEX fund_reports_by_registrant ON fund_reports (cik, filed_at DESC, accession DESC);
CREATE INDEX fund_reports_by_day ON fund_reports (filed_at DESC, accession DESC);
CREATE INDEX fund_reports_by_content ON fund_reports (content);
CREATE INDEX fund_reports_undated ON fund_reports (id) WHERE filed_at IS NULL;
CREATE INDEX latest_fund_reports ON fund_reports (fund_id) WHERE is_latest;

-- A security in the words of a filer: everything about a position that stays the same from one report to the next. A
-- security has several rows if filers describe it differently.
CREATE TABLE fund_securities (
    -- Made from the hash of the other columns.
    id                 INTEGER PRIMARY KEY,
    -- NULL for a placeholder and for any other number than a CUSIP.
    cusip              TEXT,
    -- The text in place of a CUSIP, such as a SEDOL.
    filed_cusip        TEXT,
    isin               TEXT,
    ticker             TEXT,
    name               TEXT,
    title              TEXT,
    -- Legal Entity Identifier of the issuer.
    lei                TEXT,
    -- Code of the form, such as EC for common equity.
    asset_category     TEXT,
    asset_description  TEXT,
    issuer_category    TEXT,
    issuer_description TEXT,
    country            TEXT,
    -- JSON list of the identifiers besides the CUSIP: kind, value, description.
    identifiers        TEXT NOT NULL
) STRICT;

CREATE INDEX fund_securities_by_cusip ON fund_securities (cusip) WHERE cusip IS NOT NULL;
CREATE INDEX fund_securities_by_isin ON fund_securities (isin) WHERE isin IS NOT NULL;

-- A position of a fund's report. Numbers may be negative.
CREATE TABLE fund_positions (
    report_id           INTEGER NOT NULL REFERENCES fund_reports (id) ON DELETE CASCADE,
    -- Position in the document, from 1.
    seq                 INTEGER NOT NULL,
    security_id         INTEGER NOT NULL REFERENCES fund_securities (id),
    balance             TEXT,
    -- What the balance counts: NS shares, PA principal, NC contracts, OU other.
    units               TEXT,
    currency            TEXT,
    -- Units of the currency for a dollar. NULL for dollars.
    exchange_rate       TEXT,
    -- Dollars.
    value               TEXT,
    -- Per cent of the fund's net assets.
    percent             TEXT,
    payoff_profile      TEXT,
    is_restricted       INTEGER CHECK (is_restricted IN (0, 1)),
    fair_value_level    TEXT,
    derivative_category TEXT,
    -- JSON of the terms of a debt security, of a derivative and of securities on loan; NULL if there are none.
    terms               TEXT,
    PRIMARY KEY (report_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_positions_by_security ON fund_positions (security_id, report_id);

-- For the SQL proxy: current reports of funds.
CREATE VIEW fund_report AS
SELECT accession AS accession_number, form AS form_type, filed_at, cik, registrant_name, series_id, series_name, period,
    CAST(net_assets AS REAL) AS net_assets, CAST(total_assets AS REAL) AS total_assets,
    CAST(total_liabilities AS REAL) AS total_liabilities, position_count, is_latest
FROM fund_reports
WHERE is_current AND accession NOT GLOB 'unfiled-*';

-- For the SQL proxy: positions in the current reports of funds.
CREATE VIEW fund_position AS
SELECT fund_reports.accession AS accession_number, fund_positions.seq, fund_reports.series_id, fund_reports.period,
    fund_securities.name, fund_securities.title, fund_securities.cusip, fund_securities.isin,
    CAST(fund_positions.balance AS REAL) AS balance, fund_positions.units, fund_positions.currency,
    CAST(fund_positions.value AS REAL) AS value, CAST(fund_positions.percent AS REAL) AS percent,
    fund_positions.payoff_profile, fund_securities.asset_category, fund_securities.issuer_category,
    fund_securities.country, fund_positions.derivative_category
FROM fund_positions
JOIN fund_reports ON fund_reports.id = fund_positions.report_id
JOIN fund_securities ON fund_securities.id = fund_positions.security_id
WHERE fund_reports.is_current AND fund_reports.accession NOT GLOB 'unfiled-*';


-- ==================================================================================================================
-- 18. Loading: EDGAR's feed and files of the SEC
-- ==================================================================================================================

-- A company whose filings the poller fetches.
CREATE TABLE followed (
    cik      INTEGER PRIMARY KEY,
    added_at TEXT NOT NULL,
    -- When its list of filings is fetched next.
    due_at   TEXT NOT NULL
) STRICT;

CREATE INDEX followed_due ON followed (due_at);

-- A filing whose documents are to be fetched. The row is written in the transaction that learned of the filing, so that
-- a stop loses none and none is fetched twice.
CREATE TABLE wanted_documents (
    accession TEXT PRIMARY KEY,
    cik       INTEGER NOT NULL,
    form      TEXT NOT NULL,
    -- done: stored, refused: given up (reason says why).
    state     TEXT NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'done', 'refused')),
    -- Failed attempts.
    tries     INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    due_at    TEXT,
    done_at   TEXT,
    reason    TEXT,
    CHECK ((state = 'due') = (due_at IS NOT NULL)),
    CHECK ((state = 'due') = (done_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX wanted_documents_due ON wanted_documents (due_at, accession) WHERE state = 'due';
CREATE INDEX wanted_documents_done ON wanted_documents (done_at) WHERE done_at IS NOT NULL;
-- Documents given up or delayed.
CREATE INDEX wanted_documents_in_trouble ON wanted_documents (state, done_at)
WHERE state = 'refused' OR (state = 'due' AND tries > 0);

-- The validators (RFC 9110, 8.8) of a stored response, for conditional requests.
CREATE TABLE validators (
    url           TEXT PRIMARY KEY,
    etag          TEXT,
    last_modified TEXT
) STRICT, WITHOUT ROWID;

-- A watermark of the poller: feed_read_to, indexed_through, blocked_until or blocked_times.
CREATE TABLE poll_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- A company of a bulk file of the SEC that has been stored.
CREATE TABLE loaded (
    -- Path of the file.
    path      TEXT NOT NULL,
    cik       INTEGER NOT NULL,
    loaded_at TEXT NOT NULL,
    PRIMARY KEY (path, cik)
) STRICT, WITHOUT ROWID;

-- A file that an ingest refused. The row is deleted when the file is ingested; only the newest are kept.
CREATE TABLE refused_files (
    path   TEXT PRIMARY KEY,
    kind   TEXT NOT NULL,
    reason TEXT NOT NULL,
    at     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX refused_files_by_time ON refused_files (at DESC, path);
