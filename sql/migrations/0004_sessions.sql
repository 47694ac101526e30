-- Invites, sessions, and the rows behind the links in mails. Codes and links are derived from the master
-- secret over a row's uuid: the rows alone open nothing.

CREATE TABLE invites (
    id          INTEGER PRIMARY KEY,
    uuid        TEXT NOT NULL UNIQUE,
    fingerprint BLOB NOT NULL UNIQUE,
    note        TEXT,
    created_at  TEXT NOT NULL,
    expires_at  TEXT,
    revoked_at  TEXT,
    used_at     TEXT,
    used_by     INTEGER REFERENCES users (id) ON DELETE SET NULL
) STRICT;

CREATE TABLE sessions (
    id          INTEGER PRIMARY KEY,
    user_id     INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    fingerprint BLOB NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL
) STRICT;

CREATE INDEX sessions_by_user ON sessions (user_id, id);

-- The last verification link of a user; a new one replaces it.
CREATE TABLE verifications (
    -- AUTOINCREMENT: a queued mail names the id, which must not come to mean another user's row.
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;

-- The live reset token of a user; consuming it deletes the row.
CREATE TABLE resets (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    uuid       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
) STRICT;
