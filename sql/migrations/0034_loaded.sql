-- Of which companies a bulk file of the SEC's has been stored, and when.
CREATE TABLE loaded (
    path      TEXT NOT NULL,
    cik       INTEGER NOT NULL,
    loaded_at TEXT NOT NULL,
    PRIMARY KEY (path, cik)
) STRICT, WITHOUT ROWID;

-- The largest companies of the SEC's list.
CREATE INDEX companies_by_place ON companies (list_place) WHERE list_place IS NOT NULL;
