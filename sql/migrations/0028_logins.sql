-- What is known of logins when the process starts again.

-- Wrong passwords in a row, by a short hash of the submitted email. What is in memory stands here too.
CREATE TABLE login_failures (
    email    BLOB PRIMARY KEY,
    failures INTEGER NOT NULL CHECK (failures > 0),
    last_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_failures_by_time ON login_failures (last_at);

-- Where an account logged in from, as a digest that nothing can be read from without the master secret.
CREATE TABLE login_addresses (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    address BLOB NOT NULL,
    last_at TEXT NOT NULL,
    PRIMARY KEY (user_id, address)
) STRICT, WITHOUT ROWID;

CREATE INDEX login_addresses_by_time ON login_addresses (last_at);
