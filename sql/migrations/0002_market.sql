-- Companies, filings, and what their XBRL documents report.

CREATE TABLE companies (
    cik             INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    -- Where the name is from and of when, so that the best name wins in whatever order the documents came.
    name_rank       INTEGER NOT NULL,
    name_as_of      TEXT NOT NULL,
    sic             INTEGER,
    fiscal_year_end TEXT,
    state           TEXT,
    entity_type     TEXT
) STRICT;

CREATE TABLE tickers (
    ticker   TEXT NOT NULL,
    cik      INTEGER NOT NULL REFERENCES companies (cik),
    exchange TEXT,
    -- 0 a filing's cover page, 1 submissions, 2 the SEC's list of tickers: the later the better.
    source   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (ticker, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX tickers_by_company ON tickers (cik, source DESC, position);

CREATE TABLE former_names (
    cik       INTEGER NOT NULL REFERENCES companies (cik),
    name      TEXT NOT NULL,
    from_date TEXT,
    to_date   TEXT,
    UNIQUE (cik, name, from_date, to_date)
) STRICT;

-- One row an accession number, whichever document told of it first.
CREATE TABLE filings (
    id               INTEGER PRIMARY KEY,
    accession        TEXT NOT NULL UNIQUE,
    cik              INTEGER NOT NULL REFERENCES companies (cik),
    form             TEXT,
    filed_at         TEXT,
    accepted_at      TEXT,
    period_of_report TEXT,
    primary_document TEXT,
    items            TEXT,
    size             INTEGER,
    is_xbrl          INTEGER,
    is_inline_xbrl   INTEGER
) STRICT;

CREATE INDEX filings_by_company ON filings (cik, period_of_report DESC, filed_at DESC);

-- One row a set of XBRL documents. A set ingested again with other content stands beside the first.
CREATE TABLE reports (
    id               INTEGER PRIMARY KEY,
    filing_id        INTEGER NOT NULL REFERENCES filings (id),
    -- The company that the cover names: of several registrants of a filing, or of a forged one, only itself.
    cik              INTEGER NOT NULL REFERENCES companies (cik),
    sha256           BLOB NOT NULL,
    form             TEXT NOT NULL,
    period_of_report TEXT NOT NULL,
    fiscal_year      INTEGER,
    fiscal_period    TEXT,
    statements       INTEGER NOT NULL,
    documents        INTEGER NOT NULL,
    source           TEXT NOT NULL,
    UNIQUE (filing_id, sha256)
) STRICT;

CREATE INDEX reports_by_company ON reports (cik, period_of_report DESC);

CREATE TABLE concepts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

-- Unit 0 is none: the unit of a text.
CREATE TABLE units (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO units VALUES (0, '');

-- A JSON object of axis to member in canonical order; 0 is no dimension at all.
CREATE TABLE dimensions (id INTEGER PRIMARY KEY, members TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO dimensions VALUES (0, '{}');

CREATE TABLE label_roles (id INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE) STRICT;

-- A period (start NULL: an instant) and dimensions of one report.
CREATE TABLE contexts (
    id           INTEGER PRIMARY KEY,
    report_id    INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    start_date   TEXT,
    end_date     TEXT NOT NULL,
    dimension_id INTEGER NOT NULL REFERENCES dimensions (id)
) STRICT;

CREATE INDEX contexts_by_report ON contexts (report_id);

-- The exact text as tagged; NULL is nil. Clustered by report and concept, which is how facts are read.
CREATE TABLE facts (
    report_id  INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    concept_id INTEGER NOT NULL REFERENCES concepts (id),
    context_id INTEGER NOT NULL REFERENCES contexts (id) ON DELETE CASCADE,
    unit_id    INTEGER NOT NULL REFERENCES units (id),
    value      TEXT,
    decimals   TEXT,
    PRIMARY KEY (report_id, concept_id, context_id, unit_id)
) STRICT, WITHOUT ROWID;

-- A role of the filing in the order of its definitions; kind is set on statements.
CREATE TABLE sections (
    id         INTEGER PRIMARY KEY,
    report_id  INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    role_uri   TEXT NOT NULL,
    definition TEXT NOT NULL,
    kind       TEXT,
    UNIQUE (report_id, seq)
) STRICT;

-- The presentation tree, flattened in order. nature: 0 an item, 1 a heading, 2 structure (table, axis, member).
-- placement: 0 as it is, 1 opens, 2 closes a duration column.
CREATE TABLE lines (
    section_id    INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    seq           INTEGER NOT NULL,
    concept_id    INTEGER NOT NULL REFERENCES concepts (id),
    depth         INTEGER NOT NULL,
    nature        INTEGER NOT NULL,
    label         TEXT,
    label_role_id INTEGER REFERENCES label_roles (id),
    placement     INTEGER NOT NULL,
    negated       INTEGER NOT NULL,
    balance       TEXT CHECK (balance IN ('debit', 'credit')),
    PRIMARY KEY (section_id, seq)
) STRICT, WITHOUT ROWID;

-- The columns of a statement, as the SEC's renderer would show them; chosen when the filing is stored,
-- because the choice depends on every other section of it.
CREATE TABLE section_columns (
    section_id   INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    context_seq  INTEGER NOT NULL,
    start_date   TEXT,
    end_date     TEXT NOT NULL,
    dimension_id INTEGER NOT NULL REFERENCES dimensions (id),
    PRIMARY KEY (section_id, seq)
) STRICT, WITHOUT ROWID;

-- Calculation: the total is the sum of weight times item.
CREATE TABLE sums (
    section_id INTEGER NOT NULL REFERENCES sections (id) ON DELETE CASCADE,
    total_id   INTEGER NOT NULL REFERENCES concepts (id),
    seq        INTEGER NOT NULL,
    item_id    INTEGER NOT NULL REFERENCES concepts (id),
    weight     TEXT NOT NULL,
    PRIMARY KEY (section_id, total_id, seq)
) STRICT, WITHOUT ROWID;

-- Counts the transactions that changed market data: the part of every ETag that says "something is new".
CREATE TABLE data_version (version INTEGER NOT NULL) STRICT;
INSERT INTO data_version VALUES (0);
