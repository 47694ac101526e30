-- The poller of EDGAR: whom it follows, what it has still to fetch, and where it stood when it stopped.

-- The companies whose submissions and documents are fetched.
CREATE TABLE followed (
    cik      INTEGER PRIMARY KEY,
    added_at TEXT NOT NULL,
    -- When the list of its filings is to be fetched next.
    due_at   TEXT NOT NULL
) STRICT;

CREATE INDEX followed_due ON followed (due_at);

-- Filings whose documents are wanted, written in the transaction that learned of them: a stop loses none, and
-- none is fetched twice.
CREATE TABLE wanted_documents (
    accession TEXT PRIMARY KEY,
    cik       INTEGER NOT NULL,
    form      TEXT NOT NULL,
    state     TEXT NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'done', 'refused')),
    tries     INTEGER NOT NULL DEFAULT 0 CHECK (tries >= 0),
    due_at    TEXT,
    done_at   TEXT,
    reason    TEXT,
    CHECK ((state = 'due') = (due_at IS NOT NULL)),
    CHECK ((state = 'due') = (done_at IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX wanted_documents_due ON wanted_documents (due_at, accession) WHERE state = 'due';
CREATE INDEX wanted_documents_done ON wanted_documents (done_at) WHERE done_at IS NOT NULL;

-- What a server said of an answer that has been stored, to be asked whether there is a newer one.
CREATE TABLE validators (
    url           TEXT PRIMARY KEY,
    etag          TEXT,
    last_modified TEXT
) STRICT, WITHOUT ROWID;

-- Watermarks: feed_read_to, indexed_through, blocked_until, blocked_times.
CREATE TABLE poll_state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
