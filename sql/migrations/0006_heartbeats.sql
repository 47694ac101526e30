-- Signs of life of the parts that fetch and store, and when each kind of data last came in.

-- The last step of a part: when, how long it took where that is known, and why it failed when it did.
CREATE TABLE heartbeats (
    name    TEXT PRIMARY KEY CHECK (name <> ''),
    beat_at TEXT NOT NULL,
    took_ms INTEGER CHECK (took_ms >= 0),
    failure TEXT CHECK (failure <> '')
) STRICT, WITHOUT ROWID;

CREATE TABLE arrivals (
    kind       TEXT PRIMARY KEY CHECK (kind IN ('filing', '13f_batch', 'xbrl_run', 'news')),
    arrived_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
