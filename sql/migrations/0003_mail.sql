-- Mail that is to be sent: which template, about which row. Addresses, links and keys are looked up and derived
-- when it is sent, so that a copy of the database holds none.
CREATE TABLE mails (
    id         INTEGER PRIMARY KEY,
    template   TEXT NOT NULL CHECK (template <> ''),
    -- The row that the mail is about, of whichever table the template means: no foreign key can say that.
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
