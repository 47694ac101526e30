-- Users, their keys, their plan, and the token ledger.

CREATE TABLE users (
    id             INTEGER PRIMARY KEY,
    uuid           TEXT NOT NULL UNIQUE,
    email          TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
    usertype       TEXT NOT NULL DEFAULT 'user' CHECK (usertype IN ('user', 'admin')),
    -- argon2id in its own text form; NULL: no password login.
    password       TEXT,
    -- Counts the passwords chosen; a hash brought up to date does not move it.
    password_serial INTEGER NOT NULL DEFAULT 0,
    verify_email   INTEGER NOT NULL DEFAULT 0 CHECK (verify_email IN (0, 1)),
    has_uat_access INTEGER NOT NULL DEFAULT 0 CHECK (has_uat_access IN (0, 1)),
    billing_admin  INTEGER NOT NULL DEFAULT 1 CHECK (billing_admin IN (0, 1)),
    credit_cents   INTEGER NOT NULL DEFAULT 0 CHECK (credit_cents >= 0),
    notify_email   INTEGER NOT NULL DEFAULT 1 CHECK (notify_email IN (0, 1)),
    notify_browser INTEGER NOT NULL DEFAULT 1 CHECK (notify_browser IN (0, 1)),
    webhook_url    TEXT,
    webhook_topics TEXT NOT NULL DEFAULT '[]',
    device_limit   INTEGER CHECK (device_limit > 0),
    -- Set by the operator: neither key nor password opens the account.
    locked_at      TEXT,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL
) STRICT;

-- A key is derived from the master secret, the user's uuid and its own; only its SHA-256 is kept.
CREATE TABLE api_keys (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid        TEXT NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL UNIQUE,
    created_at  TEXT NOT NULL
) STRICT;

-- The balance is total_limit_api - reach_limit_api: what may be spent less what was.
CREATE TABLE userplans (
    id                 INTEGER PRIMARY KEY,
    user_id            INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    plan               TEXT NOT NULL CHECK (plan IN ('free', 'weekly', 'monthly', 'pro', 'yearly')),
    status             TEXT NOT NULL DEFAULT 'active',
    total_limit_api    INTEGER NOT NULL CHECK (total_limit_api >= 0),
    reach_limit_api    INTEGER NOT NULL DEFAULT 0 CHECK (reach_limit_api >= 0),
    current_period_end TEXT NOT NULL,
    created_at         TEXT NOT NULL,
    updated_at         TEXT NOT NULL,
    CHECK (reach_limit_api <= total_limit_api)
) STRICT;

-- Every change of a balance. A debit is open until its call has been answered; what is open at a start was
-- cut off by a crash and is refunded.
CREATE TABLE ledger (
    id         INTEGER PRIMARY KEY,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    delta      INTEGER NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN
        ('debit', '4xx_refund', '5xx_refund', 'crash_refund', 'refill', 'purchase', 'grant')),
    endpoint   TEXT,
    request_id TEXT,
    status     INTEGER,
    open       INTEGER NOT NULL DEFAULT 0 CHECK (open IN (0, 1)),
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX ledger_by_user ON ledger (user_id, id);
CREATE INDEX ledger_open ON ledger (open) WHERE open = 1;
