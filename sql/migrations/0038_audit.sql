-- What operators did, by page or on the command line. Rows are added and stay as they are; accounts are named by
-- number, so that a deleted one is named no more.
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      TEXT NOT NULL,
    -- The admin; NULL: the command line.
    by_user INTEGER REFERENCES users (id),
    action  TEXT NOT NULL,
    subject INTEGER REFERENCES users (id),
    detail  TEXT NOT NULL,
    place   TEXT NOT NULL,
    -- Of the form that asked for it: none does anything twice.
    once    TEXT UNIQUE
) STRICT;

CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not changed');
END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit log is not changed');
END;

-- Deliveries that failed, the last first.
CREATE INDEX deliveries_failed ON deliveries (id) WHERE state IN ('retry_pending', 'dropped');
