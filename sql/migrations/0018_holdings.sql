-- Form 13F: tables as filed, and what follows from them for a fund, a security and a quarter.

-- Every name that a company was stored under, folded: how the issuer of a 13F row is known without a mapping.
CREATE TABLE company_keys (
    key TEXT NOT NULL,
    cik INTEGER NOT NULL REFERENCES companies (cik),
    PRIMARY KEY (key, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX company_keys_by_company ON company_keys (cik);

-- One row a CUSIP that a 13F table or a mapping names.
CREATE TABLE securities (
    id             INTEGER PRIMARY KEY,
    cusip          TEXT NOT NULL UNIQUE,
    -- As the newest 13F row of it writes them (seen: its filing date and accession number), else as mapped.
    issuer         TEXT NOT NULL,
    title          TEXT NOT NULL,
    seen           TEXT NOT NULL,
    issuer_key     TEXT NOT NULL,
    class_letter   TEXT,
    security_group TEXT NOT NULL,
    -- What is concluded, and from what: cusip_mapping or issuer_name. NULL is not known.
    ticker         TEXT,
    cik            INTEGER REFERENCES companies (cik),
    evidence       TEXT,
    -- The company's major group of industries, the first two digits of its SIC code; kept by triggers.
    sic_group      INTEGER
) STRICT;

CREATE INDEX securities_by_ticker ON securities (ticker);
CREATE INDEX securities_by_company ON securities (cik);
CREATE INDEX securities_by_issuer ON securities (issuer_key);

-- The words of an issuer's names, for search by the beginning of a word.
CREATE TABLE security_words (
    word        TEXT NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    PRIMARY KEY (word, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX security_words_by_security ON security_words (security_id);

-- A loaded mapping; of two rows for one CUSIP the one of the later day stands, of one day the greater text.
CREATE TABLE cusip_mappings (
    cusip          TEXT PRIMARY KEY,
    ticker         TEXT,
    cik            INTEGER,
    issuer         TEXT,
    security_group TEXT,
    figi           TEXT,
    successor      TEXT,
    effective_date TEXT,
    reason         TEXT,
    as_of          TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX cusip_mappings_by_successor ON cusip_mappings (successor);
CREATE INDEX cusip_mappings_by_ticker ON cusip_mappings (ticker);
CREATE INDEX cusip_mappings_by_company ON cusip_mappings (cik);

CREATE TABLE holding_names (
    id     INTEGER PRIMARY KEY,
    issuer TEXT NOT NULL,
    title  TEXT NOT NULL,
    UNIQUE (issuer, title)
) STRICT;

-- Managers that file Form 13F, with the counts that their lists show.
CREATE TABLE funds (
    cik             INTEGER PRIMARY KEY REFERENCES companies (cik),
    name            TEXT NOT NULL,
    name_as_of      TEXT NOT NULL,
    filing_count    INTEGER NOT NULL,
    latest_period   TEXT,
    latest_filed_at TEXT,
    latest_value    INTEGER
) STRICT;

CREATE INDEX funds_by_value ON funds (latest_value DESC, cik);

CREATE TABLE fund_words (
    word TEXT NOT NULL,
    cik  INTEGER NOT NULL REFERENCES funds (cik),
    PRIMARY KEY (word, cik)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_words_by_fund ON fund_words (cik, word);

-- One row a set of 13F documents. value_total and the rows are in the filing's own units: times value_unit is
-- dollars for the rows, times total_unit for the cover's total. filed_at ('' when not known) and accession repeat
-- the filing's.
CREATE TABLE holdings_reports (
    id                   INTEGER PRIMARY KEY,
    filing_id            INTEGER NOT NULL REFERENCES filings (id),
    cik                  INTEGER NOT NULL REFERENCES funds (cik),
    accession            TEXT NOT NULL,
    filed_at             TEXT NOT NULL,
    sha256               BLOB NOT NULL,
    form                 TEXT NOT NULL,
    period               TEXT NOT NULL,
    report_type          TEXT,
    amendment_type       TEXT,
    amendment_number     INTEGER NOT NULL,
    name                 TEXT NOT NULL,
    address              TEXT,
    file_number          TEXT,
    signer               TEXT,
    signer_title         TEXT,
    signed               TEXT,
    entry_total          INTEGER,
    value_total          INTEGER,
    confidential_omitted INTEGER NOT NULL,
    row_count            INTEGER NOT NULL,
    row_value            INTEGER NOT NULL,
    value_unit           INTEGER NOT NULL,
    total_unit           INTEGER NOT NULL,
    value_unit_rule      TEXT NOT NULL,
    corrected            INTEGER NOT NULL,
    documents            INTEGER NOT NULL,
    UNIQUE (filing_id, sha256)
) STRICT;

CREATE INDEX holdings_reports_by_fund ON holdings_reports (cik, period, filed_at);
CREATE INDEX holdings_reports_by_day ON holdings_reports (filed_at DESC, accession DESC);
CREATE INDEX holdings_reports_by_period ON holdings_reports (period, form, cik);
CREATE INDEX holdings_reports_by_accession ON holdings_reports (accession);

-- Reports whose filing's day became known, or better known, since they were last settled by it.
CREATE TABLE holdings_redated (
    report_id INTEGER PRIMARY KEY REFERENCES holdings_reports (id) ON DELETE CASCADE
) STRICT;
CREATE TRIGGER filings_redated AFTER UPDATE OF filed_at ON filings WHEN OLD.filed_at IS NOT NEW.filed_at BEGIN
    INSERT OR IGNORE INTO holdings_redated SELECT id FROM holdings_reports WHERE filing_id = NEW.id;
END;

CREATE TABLE holdings_managers (
    report_id   INTEGER NOT NULL REFERENCES holdings_reports (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    number      INTEGER,
    name        TEXT NOT NULL,
    cik         INTEGER,
    file_number TEXT,
    included    INTEGER NOT NULL,
    PRIMARY KEY (report_id, seq)
) STRICT, WITHOUT ROWID;

-- The rows of a table as filed. kind: 0 shares, 1 principal, 2 calls, 3 puts.
CREATE TABLE holdings (
    report_id   INTEGER NOT NULL REFERENCES holdings_reports (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    security_id INTEGER NOT NULL REFERENCES securities (id),
    name_id     INTEGER NOT NULL REFERENCES holding_names (id),
    kind        INTEGER NOT NULL,
    principal   INTEGER NOT NULL,
    value       INTEGER NOT NULL,
    amount      INTEGER NOT NULL,
    figi        TEXT,
    discretion  TEXT,
    managers    TEXT,
    sole        INTEGER,
    shared      INTEGER,
    none        INTEGER,
    PRIMARY KEY (report_id, seq)
) STRICT, WITHOUT ROWID;

-- What a fund held at the end of a quarter, and what it no longer held: the effective reports united, rows of
-- one security added up, values in dollars. status: 0 not known, 1 new, 2 increased, 3 decreased,
-- 4 unchanged, 5 closed. previous_*: a quarter before, NULL when not known.
CREATE TABLE positions (
    cik             INTEGER NOT NULL REFERENCES funds (cik),
    period          TEXT NOT NULL,
    kind            INTEGER NOT NULL,
    security_id     INTEGER NOT NULL REFERENCES securities (id),
    report_id       INTEGER NOT NULL REFERENCES holdings_reports (id),
    name_id         INTEGER NOT NULL REFERENCES holding_names (id),
    row_count       INTEGER NOT NULL,
    shares          INTEGER NOT NULL,
    value           INTEGER NOT NULL,
    status          INTEGER NOT NULL,
    previous_shares INTEGER,
    previous_value  INTEGER,
    flow            INTEGER,
    figi            TEXT,
    discretion      TEXT,
    managers        TEXT,
    sole            INTEGER,
    shared          INTEGER,
    none            INTEGER,
    PRIMARY KEY (cik, period, kind, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX positions_by_security ON positions (security_id, period, kind, value DESC, cik, status);

-- How many positions in shares a fund has of each major group: how many funds hold any, without counting
-- positions. Kept by triggers, whatever changes: a position, whose a security is, or a company's SIC code.
CREATE TABLE fund_groups (
    sic_group INTEGER NOT NULL,
    period    TEXT NOT NULL,
    cik       INTEGER NOT NULL REFERENCES funds (cik),
    positions INTEGER NOT NULL,
    PRIMARY KEY (sic_group, period, cik)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER positions_added AFTER INSERT ON positions WHEN NEW.kind = 0 AND NEW.status <> 5 BEGIN
    INSERT INTO fund_groups
    SELECT sic_group, NEW.period, NEW.cik, 1 FROM securities WHERE id = NEW.security_id AND sic_group IS NOT NULL
    ON CONFLICT (sic_group, period, cik) DO UPDATE SET positions = positions + 1;
END;
CREATE TRIGGER positions_removed AFTER DELETE ON positions WHEN OLD.kind = 0 AND OLD.status <> 5 BEGIN
    UPDATE fund_groups SET positions = positions - 1
    WHERE period = OLD.period AND cik = OLD.cik
        AND sic_group = (SELECT sic_group FROM securities WHERE id = OLD.security_id);
    DELETE FROM fund_groups
    WHERE period = OLD.period AND cik = OLD.cik AND positions = 0
        AND sic_group = (SELECT sic_group FROM securities WHERE id = OLD.security_id);
END;
CREATE TRIGGER companies_classified AFTER UPDATE OF sic ON companies WHEN OLD.sic IS NOT NEW.sic BEGIN
    UPDATE securities SET sic_group = NEW.sic / 100 WHERE cik = NEW.cik;
END;
CREATE TRIGGER securities_assigned AFTER UPDATE OF cik ON securities WHEN OLD.cik IS NOT NEW.cik BEGIN
    UPDATE securities SET sic_group = (SELECT sic / 100 FROM companies WHERE companies.cik = NEW.cik)
    WHERE id = NEW.id;
END;
CREATE TRIGGER securities_classified AFTER UPDATE OF sic_group ON securities
WHEN OLD.sic_group IS NOT NEW.sic_group BEGIN
    UPDATE fund_groups SET positions = positions - 1
    WHERE sic_group = OLD.sic_group
        AND (period, cik) IN (
            SELECT period, cik FROM positions WHERE security_id = NEW.id AND kind = 0 AND status <> 5
        );
    DELETE FROM fund_groups WHERE sic_group = OLD.sic_group AND positions = 0;
    INSERT INTO fund_groups
    SELECT NEW.sic_group, period, cik, 1 FROM positions
    WHERE security_id = NEW.id AND kind = 0 AND status <> 5 AND NEW.sic_group IS NOT NULL
    ON CONFLICT (sic_group, period, cik) DO UPDATE SET positions = positions + 1;
END;

-- A fund's quarter: the report that stands for it, and its sums over positions of every kind; value is what
-- the cover says where rows are missing.
CREATE TABLE fund_quarters (
    cik         INTEGER NOT NULL REFERENCES funds (cik),
    period      TEXT NOT NULL,
    report_id   INTEGER NOT NULL REFERENCES holdings_reports (id),
    reports     INTEGER NOT NULL,
    -- Whether the table has as many rows as its cover says, and a base to which additions are united.
    complete    INTEGER NOT NULL,
    compared    INTEGER NOT NULL,
    value       INTEGER NOT NULL,
    positions   INTEGER NOT NULL,
    options     INTEGER NOT NULL,
    new         INTEGER,
    increased   INTEGER,
    decreased   INTEGER,
    unchanged   INTEGER,
    closed      INTEGER,
    PRIMARY KEY (cik, period)
) STRICT, WITHOUT ROWID;

CREATE INDEX fund_quarters_by_value ON fund_quarters (period, value DESC, cik);

-- A security's quarter over all funds, shares only (no options, no principal). Of the compared_* columns only
-- funds count whose quarter and the one before are both whole.
CREATE TABLE security_quarters (
    period          TEXT NOT NULL,
    security_id     INTEGER NOT NULL REFERENCES securities (id),
    funds           INTEGER NOT NULL,
    shares          INTEGER NOT NULL,
    value           INTEGER NOT NULL,
    compared        INTEGER NOT NULL,
    compared_shares INTEGER NOT NULL,
    previous_shares INTEGER NOT NULL,
    flow            INTEGER NOT NULL,
    bought          INTEGER NOT NULL,
    sold            INTEGER NOT NULL,
    new             INTEGER NOT NULL,
    increased       INTEGER NOT NULL,
    decreased       INTEGER NOT NULL,
    unchanged       INTEGER NOT NULL,
    closed          INTEGER NOT NULL,
    PRIMARY KEY (period, security_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX security_quarters_by_security ON security_quarters (security_id, period);
