-- The journal of the feeds: what happened, numbered feed by feed without holes.

-- The last number given out stands by itself: it must not come again when every row has been cleared away.
CREATE TABLE feeds (
    name     TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO feeds (name) VALUES ('main-api'), ('insider-api'), ('13f-live');

CREATE TABLE events (
    id          INTEGER PRIMARY KEY,
    feed        TEXT NOT NULL REFERENCES feeds (name),
    seq         INTEGER NOT NULL,
    type        TEXT NOT NULL CHECK (type <> ''),
    -- When it happened at the SEC, and when it became known here.
    occurred_at TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    -- What a reader filters by: comma-separated tickers and CIKs of ten digits, and a form type.
    tickers     TEXT NOT NULL,
    ciks        TEXT NOT NULL,
    form_type   TEXT,
    -- A JSON object, written once and sent as it is.
    data        TEXT NOT NULL,
    UNIQUE (feed, seq)
) STRICT;

CREATE INDEX events_by_age ON events (feed, recorded_at);

-- The filings that the main feed has told of: a filing is news once, whichever documents tell of it again.
CREATE TABLE announced_filings (accession TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
