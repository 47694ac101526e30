-- Schedules 13D and 13G (owners of more than five per cent) and Forms 144 (proposed sales).

-- One row a filing. What a figure of a filing is, is that of its lead: the person who reports the most shares. Figures of
-- persons are never added up: joint filers report the same shares.
CREATE TABLE schedule_filings (
    -- The 18 digits of the accession number; below zero, from the hash, while the filing is not known.
    id            INTEGER PRIMARY KEY,
    accession     TEXT NOT NULL UNIQUE,
    content       BLOB NOT NULL,
    -- 0 the submission's header, which names parties only, 1 the document.
    source        INTEGER NOT NULL,
    form          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('13D', '13G')),
    is_amendment  INTEGER NOT NULL,
    amendment     INTEGER,
    issuer_cik    INTEGER NOT NULL REFERENCES companies (cik),
    issuer_name   TEXT NOT NULL,
    -- Empty when none is told.
    cusip         TEXT NOT NULL,
    title         TEXT,
    event_date    TEXT,
    filed_at      TEXT,
    -- Days since 1970-01-01, 0 when unknown: what the lists are sorted by, before the accession number.
    filed_day     INTEGER NOT NULL,
    person_count  INTEGER NOT NULL,
    -- Whether a person says that it is a member of a group.
    is_group      INTEGER NOT NULL,
    -- Whether it says that it is the last: five per cent or less are left.
    is_exit       INTEGER NOT NULL,
    -- The beginning of Item 4, and the bits of purposes.py that its words set; null without Item 4.
    purpose       TEXT,
    intents       INTEGER,
    lead_seq      INTEGER NOT NULL,
    lead_percent  TEXT,
    lead_shares   TEXT,
    -- The lead's filing before, of the same securities as far as known.
    prior_id      INTEGER,
    prior_kind    TEXT,
    prior_source  INTEGER,
    prior_percent TEXT,
    prior_shares  TEXT,
    -- The first of the filings that its lead's chain leads back to; one of each is the latest.
    thread        INTEGER NOT NULL,
    is_latest     INTEGER NOT NULL DEFAULT 1,
    percent       REAL GENERATED ALWAYS AS (CAST(lead_percent AS REAL)) VIRTUAL
) STRICT;

CREATE INDEX schedule_filings_by_day ON schedule_filings (filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_kind ON schedule_filings (kind, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_form ON schedule_filings (form, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_issuer ON schedule_filings (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_by_percent ON schedule_filings (percent DESC, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_converted ON schedule_filings (filed_day DESC, id DESC) WHERE kind <> prior_kind;
CREATE INDEX schedule_filings_of_groups ON schedule_filings (filed_day DESC, id DESC) WHERE is_group AND is_latest;
CREATE INDEX schedule_filings_by_thread ON schedule_filings (thread, filed_day DESC, id DESC);
CREATE INDEX schedule_filings_after ON schedule_filings (prior_id);
CREATE INDEX schedule_filings_by_content ON schedule_filings (content);
CREATE INDEX schedule_filings_undated ON schedule_filings (id) WHERE filed_at IS NULL;

-- What the document says, as zlib of JSON: the other tables are made from it.
CREATE TABLE schedule_bodies (
    filing_id INTEGER PRIMARY KEY REFERENCES schedule_filings (id) ON DELETE CASCADE,
    document  TEXT,
    body      BLOB NOT NULL
) STRICT;

CREATE TABLE schedule_persons (
    id                 INTEGER PRIMARY KEY,
    filing_id          INTEGER NOT NULL REFERENCES schedule_filings (id) ON DELETE CASCADE,
    seq                INTEGER NOT NULL,
    -- The UUID that stands for the holder: of its CIK, or of its name.
    holder             TEXT NOT NULL,
    cik                INTEGER,
    name               TEXT NOT NULL,
    member             TEXT,
    citizenship        TEXT,
    types              TEXT NOT NULL,
    -- Numbers are decimal texts as filed.
    shares             TEXT,
    percent            TEXT,
    sole_voting        TEXT,
    shared_voting      TEXT,
    sole_dispositive   TEXT,
    shared_dispositive TEXT,
    issuer_cik         INTEGER NOT NULL,
    cusip              TEXT NOT NULL,
    filed_day          INTEGER NOT NULL,
    -- The row of the same holder and securities in the filing before; current is what no later row follows.
    prior_id           INTEGER,
    is_current         INTEGER NOT NULL DEFAULT 1,
    UNIQUE (filing_id, seq)
) STRICT;

CREATE INDEX schedule_persons_by_holder ON schedule_persons (holder, filed_day DESC, filing_id DESC);
CREATE INDEX schedule_persons_by_cik ON schedule_persons (cik, filed_day DESC, filing_id DESC);
CREATE INDEX schedule_persons_by_chain ON schedule_persons (issuer_cik, holder, filed_day, filing_id);
CREATE INDEX schedule_persons_current ON schedule_persons (issuer_cik, filed_day DESC, filing_id DESC) WHERE is_current;
CREATE INDEX schedule_persons_after ON schedule_persons (prior_id);

-- Names in words, for searching.
CREATE TABLE schedule_words (
    word   TEXT NOT NULL,
    holder TEXT NOT NULL,
    PRIMARY KEY (word, holder)
) STRICT, WITHOUT ROWID;

CREATE TABLE sale_notices (
    id           INTEGER PRIMARY KEY,
    accession    TEXT NOT NULL UNIQUE,
    content      BLOB NOT NULL,
    form         TEXT NOT NULL,
    is_amendment INTEGER NOT NULL,
    issuer_cik   INTEGER NOT NULL REFERENCES companies (cik),
    issuer_name  TEXT NOT NULL,
    -- Whose credentials filed it; the seller itself is told by name only.
    filer_cik    INTEGER,
    seller       TEXT NOT NULL,
    filed_at     TEXT,
    filed_day    INTEGER NOT NULL,
    -- The first day on which something is to be sold.
    sale_date    TEXT,
    document     TEXT,
    body         BLOB NOT NULL
) STRICT;

CREATE INDEX sale_notices_by_day ON sale_notices (filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_issuer ON sale_notices (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_filer ON sale_notices (filer_cik, filed_day DESC, id DESC);
CREATE INDEX sale_notices_by_content ON sale_notices (content);
CREATE INDEX sale_notices_undated ON sale_notices (id) WHERE filed_at IS NULL;

CREATE TABLE sale_notice_lines (
    notice_id   INTEGER NOT NULL REFERENCES sale_notices (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    title       TEXT,
    broker      TEXT,
    units       TEXT,
    value       TEXT,
    outstanding TEXT,
    date        TEXT,
    exchange    TEXT,
    PRIMARY KEY (notice_id, seq)
) STRICT, WITHOUT ROWID;

CREATE VIEW beneficial_ownership AS
SELECT filing.accession AS accession_number, filing.form AS form_type, filing.filed_at, filing.event_date,
    filing.issuer_cik, filing.issuer_name, nullif(filing.cusip, '') AS cusip, person.seq,
    person.seq = filing.lead_seq AS is_lead, person.cik AS holder_cik, person.name AS holder_name, person.member,
    CAST(person.shares AS REAL) AS shares, CAST(person.percent AS REAL) AS percent_of_class,
    CAST(person.sole_voting AS REAL) AS sole_voting, CAST(person.shared_voting AS REAL) AS shared_voting,
    person.is_current
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE filing.id > 0;

CREATE VIEW proposed_sale AS
SELECT notice.accession AS accession_number, notice.form AS form_type, notice.filed_at, notice.issuer_cik,
    notice.issuer_name, notice.filer_cik, notice.seller, line.seq, line.title AS security_title, line.broker,
    CAST(line.units AS REAL) AS shares, CAST(line.value AS REAL) AS value, line.date AS approximate_sale_date
FROM sale_notices AS notice
JOIN sale_notice_lines AS line ON line.notice_id = notice.id
WHERE notice.id > 0;
