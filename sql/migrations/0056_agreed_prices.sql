-- The price of a share that most of the managers imply who held it at the end of a quarter, of the 25 largest
-- positions; NULL where fewer than three hold it, or where they do not agree.
ALTER TABLE security_quarters ADD COLUMN price REAL;

-- Those whose positions changed since. After an upgrade the next ingest makes all of them.
CREATE TABLE securities_unpriced (
    period      TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    PRIMARY KEY (period, security_id)
) STRICT, WITHOUT ROWID;
INSERT INTO securities_unpriced SELECT period, security_id FROM security_quarters WHERE funds > 2;
