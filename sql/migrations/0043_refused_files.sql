-- Files that the last ingests refused, and why: the newest of them, until they are ingested.
CREATE TABLE refused_files (
    path   TEXT PRIMARY KEY,
    kind   TEXT NOT NULL,
    reason TEXT NOT NULL,
    at     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX refused_files_by_time ON refused_files (at DESC, path);
