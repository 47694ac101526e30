-- Ownership forms 3, 4 and 5: what insiders report of their transactions and holdings.

CREATE TABLE insiders (
    cik        INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    is_entity  INTEGER NOT NULL,
    -- Of which form the name is: the newest wins, in whatever order they came.
    named_day  INTEGER NOT NULL,
    named_form INTEGER NOT NULL
) STRICT;

-- One row a filing. The body is what the form says, as zlib of JSON: the tables below are made from it.
CREATE TABLE insider_forms (
    -- The 18 digits of the accession number; below zero, from the hash, while the filing is not known.
    id                INTEGER PRIMARY KEY,
    accession         TEXT NOT NULL UNIQUE,
    content           BLOB NOT NULL,
    -- 0 a quarterly data set, 1 the document itself, which says more.
    source            INTEGER NOT NULL,
    body              BLOB NOT NULL,
    issuer_cik        INTEGER NOT NULL REFERENCES companies (cik),
    sic               INTEGER,
    -- SIC division and major group; sectors.tsv names them.
    sector            TEXT GENERATED ALWAYS AS (CASE
        WHEN sic IS NULL THEN NULL WHEN sic < 1000 THEN 'A' WHEN sic < 1500 THEN 'B' WHEN sic < 2000 THEN 'C'
        WHEN sic < 4000 THEN 'D' WHEN sic < 5000 THEN 'E' WHEN sic < 5200 THEN 'F' WHEN sic < 6000 THEN 'G'
        WHEN sic < 7000 THEN 'H' WHEN sic < 9000 THEN 'I' WHEN sic < 9900 THEN 'J' ELSE 'K' END) VIRTUAL,
    industry          INTEGER GENERATED ALWAYS AS (sic / 100) VIRTUAL,
    symbol            TEXT,
    form              TEXT NOT NULL,
    base              TEXT NOT NULL,
    is_amendment      INTEGER NOT NULL,
    period            TEXT NOT NULL,
    original_date     TEXT,
    filed_at          TEXT,
    -- Days since 1970-01-01, 0 when unknown: what the lists are sorted by, before the accession number.
    filed_day         INTEGER NOT NULL,
    -- The latest day that the form tells of.
    as_of             TEXT NOT NULL,
    is_late           INTEGER,
    business_days     INTEGER,
    roles             INTEGER NOT NULL,
    document          TEXT,
    stored_at         TEXT NOT NULL,
    owner_count       INTEGER NOT NULL,
    nonderiv_trans    INTEGER NOT NULL,
    nonderiv_holdings INTEGER NOT NULL,
    deriv_trans       INTEGER NOT NULL,
    deriv_holdings    INTEGER NOT NULL,
    footnote_count    INTEGER NOT NULL,
    -- Whether amendments restate everything in it.
    is_superseded     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX insider_forms_by_day ON insider_forms (filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_type ON insider_forms (form, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_issuer ON insider_forms (issuer_cik, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_sector ON insider_forms (sector, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_industry ON insider_forms (industry, filed_day DESC, id DESC);
CREATE INDEX insider_forms_by_period ON insider_forms (issuer_cik, period);
CREATE INDEX insider_forms_by_content ON insider_forms (content);
CREATE INDEX insider_forms_undated ON insider_forms (id) WHERE filed_at IS NULL;
CREATE INDEX insider_forms_amending ON insider_forms (issuer_cik, original_date) WHERE is_amendment = 1;

CREATE TABLE insider_form_owners (
    owner_cik INTEGER NOT NULL REFERENCES insiders (cik),
    filed_day INTEGER NOT NULL,
    form_id   INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    roles     INTEGER NOT NULL,
    title     TEXT,
    other     TEXT,
    PRIMARY KEY (owner_cik, filed_day, form_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX insider_form_owners_by_form ON insider_form_owners (form_id, position);

CREATE TABLE insider_transactions (
    id                INTEGER PRIMARY KEY,
    form_id           INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    seq               INTEGER NOT NULL,
    filed_day         INTEGER NOT NULL,
    issuer_cik        INTEGER NOT NULL,
    -- The first of the owners; roles are those of any of them.
    owner_cik         INTEGER NOT NULL,
    roles             INTEGER NOT NULL,
    sic               INTEGER,
    -- SIC division and major group; sectors.tsv names them.
    sector            TEXT GENERATED ALWAYS AS (CASE
        WHEN sic IS NULL THEN NULL WHEN sic < 1000 THEN 'A' WHEN sic < 1500 THEN 'B' WHEN sic < 2000 THEN 'C'
        WHEN sic < 4000 THEN 'D' WHEN sic < 5000 THEN 'E' WHEN sic < 5200 THEN 'F' WHEN sic < 6000 THEN 'G'
        WHEN sic < 7000 THEN 'H' WHEN sic < 9000 THEN 'I' WHEN sic < 9900 THEN 'J' ELSE 'K' END) VIRTUAL,
    industry          INTEGER GENERATED ALWAYS AS (sic / 100) VIRTUAL,
    derivative        INTEGER NOT NULL,
    title             TEXT,
    date              TEXT,
    code              TEXT,
    standard_type     TEXT NOT NULL,
    -- 1 a purchase and -1 a sale of shares in the market, 0 anything else.
    direction         INTEGER NOT NULL,
    acquired_disposed TEXT,
    -- Numbers are decimal texts as filed; value is in whole dollars, for sorting and for sums.
    shares            TEXT,
    price             TEXT,
    value             INTEGER,
    following_shares  TEXT,
    following_value   TEXT,
    nature            TEXT,
    ownership         TEXT,
    -- Which footnotes tell of a figure that is not there.
    figure_notes      TEXT,
    rule_10b5_1       INTEGER NOT NULL,
    plan_source       TEXT NOT NULL,
    is_cashless       INTEGER NOT NULL,
    is_sell_to_cover  INTEGER NOT NULL,
    -- The same for the same trade, whoever reports it.
    trade             INTEGER NOT NULL,
    -- The amendment that restates it.
    superseded_by     INTEGER,
    UNIQUE (form_id, seq)
) STRICT;

CREATE INDEX insider_transactions_by_day ON insider_transactions (filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_type
    ON insider_transactions (standard_type, filed_day DESC, form_id DESC, seq DESC) WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_sector
    ON insider_transactions (sector, filed_day DESC, form_id DESC, seq DESC, standard_type)
    WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_industry
    ON insider_transactions (industry, filed_day DESC, form_id DESC, seq DESC, standard_type)
    WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_issuer
    ON insider_transactions (issuer_cik, filed_day DESC, form_id DESC, seq DESC) WHERE superseded_by IS NULL;
CREATE INDEX insider_transactions_by_value
    ON insider_transactions (direction, value DESC, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL AND direction <> 0;
CREATE INDEX insider_transactions_by_sector_value
    ON insider_transactions (direction, sector, value DESC, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL AND direction <> 0;
CREATE INDEX insider_transactions_by_industry_value
    ON insider_transactions (direction, industry, value DESC, filed_day DESC, form_id DESC, seq DESC)
    WHERE superseded_by IS NULL AND direction <> 0;
CREATE INDEX insider_trades_by_day ON insider_transactions (filed_day) WHERE superseded_by IS NULL AND direction <> 0;
CREATE INDEX insider_transactions_of_issuer ON insider_transactions (issuer_cik);
CREATE INDEX insider_transactions_by_trade ON insider_transactions (trade);

-- A company's SIC code may become known, or change, after its insiders' transactions.
CREATE TRIGGER insider_sic AFTER UPDATE OF sic ON companies WHEN NEW.sic IS NOT OLD.sic
BEGIN
    UPDATE insider_transactions SET sic = NEW.sic WHERE issuer_cik = NEW.cik;
    UPDATE insider_forms SET sic = NEW.sic WHERE issuer_cik = NEW.cik;
END;

-- What a form says is held after it: a row a vehicle (directly, by a trust ...) and class of securities.
CREATE TABLE insider_positions (
    form_id       INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    seq           INTEGER NOT NULL,
    -- The form that it stands under: its own, or the amendment that restates its form but not it.
    under         INTEGER NOT NULL,
    class         TEXT NOT NULL,
    title         TEXT,
    derivative    INTEGER NOT NULL,
    ownership     TEXT,
    nature        TEXT,
    vehicle       TEXT NOT NULL,
    amount        TEXT,
    amount_notes  TEXT,
    superseded_by INTEGER,
    PRIMARY KEY (form_id, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX insider_positions_under ON insider_positions (under, derivative, class) WHERE superseded_by IS NULL;

-- What an insider holds of a class of an issuer's securities: one row, however many forms tell of it.
CREATE TABLE insider_stakes (
    id         INTEGER PRIMARY KEY,
    issuer_cik INTEGER NOT NULL,
    owner_cik  INTEGER NOT NULL,
    derivative INTEGER NOT NULL,
    class      TEXT NOT NULL,
    UNIQUE (issuer_cik, owner_cik, derivative, class)
) STRICT;

CREATE INDEX insider_stakes_by_owner ON insider_stakes (owner_cik, issuer_cik, derivative, class);

-- The forms that tell of a stake. The latest of a day is complete for its class, as Form 4's instructions ask.
CREATE TABLE insider_stake_forms (
    stake_id  INTEGER NOT NULL REFERENCES insider_stakes (id),
    as_of     TEXT NOT NULL,
    filed_day INTEGER NOT NULL,
    form_id   INTEGER NOT NULL REFERENCES insider_forms (id) ON DELETE CASCADE,
    -- Set when an amendment stands for it.
    amended   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stake_id, as_of, filed_day, form_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX insider_stake_forms_by_form ON insider_stake_forms (form_id);

-- Names in words, for searching: kind 0 an insider, 1 an issuer.
CREATE TABLE insider_words (
    word TEXT NOT NULL,
    kind INTEGER NOT NULL,
    cik  INTEGER NOT NULL,
    PRIMARY KEY (word, kind, cik)
) STRICT, WITHOUT ROWID;

-- Transactions that another form has told of before, by owners of whom none reports this one: two funds of one
-- manager, each with a form of its own for the same trade.
CREATE VIEW insider_repeats AS
SELECT trade.id
FROM insider_transactions AS trade
JOIN insider_transactions AS twin ON twin.trade = trade.trade AND twin.form_id <> trade.form_id
WHERE twin.superseded_by IS NULL
    AND (twin.filed_day, twin.form_id) < (trade.filed_day, trade.form_id)
    AND NOT EXISTS (
        SELECT 1
        FROM insider_form_owners AS mine
        JOIN insider_form_owners AS theirs ON theirs.form_id = twin.form_id AND theirs.owner_cik = mine.owner_cik
        WHERE mine.form_id = trade.form_id
    );
