-- Prices by day, and the splits and dividends from which adjusted closes are computed when they are asked for.

CREATE TABLE price_series (
    id        INTEGER PRIMARY KEY,
    ticker    TEXT NOT NULL UNIQUE,
    -- Made up, for a demonstration: never mixed with real ones.
    synthetic INTEGER NOT NULL CHECK (synthetic IN (0, 1))
) STRICT;

-- Exact decimal texts, as the file has them. vintage is the last day of the file and the beginning of its hash: of
-- two files that differ on a day the one that reaches further stands, whichever came first.
CREATE TABLE prices (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    date      TEXT NOT NULL,
    open      TEXT,
    high      TEXT,
    low       TEXT,
    close     TEXT NOT NULL,
    volume    INTEGER,
    vintage   TEXT NOT NULL,
    PRIMARY KEY (series_id, date)
) STRICT, WITHOUT ROWID;

-- A split in new shares for one old, or the dividend of a share.
CREATE TABLE price_actions (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    date      TEXT NOT NULL,
    kind      TEXT NOT NULL CHECK (kind IN ('split', 'dividend')),
    value     TEXT NOT NULL,
    vintage   TEXT NOT NULL,
    PRIMARY KEY (series_id, date, kind)
) STRICT, WITHOUT ROWID;
