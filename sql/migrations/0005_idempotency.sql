-- Answers of calls that carried an Idempotency-Key, kept for a day.
CREATE TABLE kept_answers (
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    route      TEXT NOT NULL,
    key        TEXT NOT NULL,
    body       BLOB NOT NULL,
    answer     BLOB NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, route, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_answers_by_age ON kept_answers (created_at);
