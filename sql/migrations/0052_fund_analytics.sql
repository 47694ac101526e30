-- What a fund's shares cost, and what they returned: kept by fund and quarter, so that a call reads and does not reckon.

-- Of a position in shares: what it cost at the prices of the quarters in which it was bought, in dollars, the quarter
-- in which it was opened, and the last in which it changed. NULL is not known: it was opened before what is held.
ALTER TABLE positions ADD COLUMN cost INTEGER;
ALTER TABLE positions ADD COLUMN opened TEXT;
ALTER TABLE positions ADD COLUMN changed TEXT;

-- Of each fund the first quarter whose positions were made anew since these were counted.
CREATE TABLE funds_uncounted (
    cik    INTEGER PRIMARY KEY REFERENCES funds (cik),
    period TEXT NOT NULL
) STRICT;
INSERT INTO funds_uncounted SELECT cik, min(period) FROM fund_quarters GROUP BY cik;

-- What a share returned over a quarter, by its prices: a decimal text, 0.05 for five per cent. adjusted: for splits and
-- dividends. Made up prices have none.
CREATE TABLE quarter_returns (
    series_id INTEGER NOT NULL REFERENCES price_series (id) ON DELETE CASCADE,
    period    TEXT NOT NULL,
    earned    TEXT NOT NULL,
    adjusted  INTEGER NOT NULL,
    PRIMARY KEY (series_id, period)
) STRICT, WITHOUT ROWID;
CREATE INDEX quarter_returns_by_period ON quarter_returns (period);

-- The quarters over which returns are kept: those that begin where a quarter of some fund ends. due: a share's return
-- changed since those of funds were counted.
CREATE TABLE returned_quarters (
    period TEXT PRIMARY KEY,
    due    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Over a quarter, of the shares that a fund held when it began: how many positions and dollars, those with a price at
-- both ends, those of them whose prices are not adjusted, what they gained, and the positions that gained and lost most,
-- as JSON of ticker, return and gain.
CREATE TABLE fund_returns (
    period     TEXT NOT NULL,
    cik        INTEGER NOT NULL REFERENCES funds (cik),
    holdings   INTEGER NOT NULL,
    value      INTEGER NOT NULL,
    priced     INTEGER NOT NULL,
    unadjusted INTEGER NOT NULL,
    gain       INTEGER NOT NULL,
    best       TEXT NOT NULL,
    worst      TEXT NOT NULL,
    PRIMARY KEY (period, cik)
) STRICT, WITHOUT ROWID;
CREATE INDEX fund_returns_by_fund ON fund_returns (cik, period);
CREATE INDEX fund_returns_priced ON fund_returns (period) WHERE priced > 0;

-- How often a series had changed when its returns were counted.
ALTER TABLE price_series ADD COLUMN counted INTEGER NOT NULL DEFAULT -1;
CREATE INDEX price_series_uncounted ON price_series (id) WHERE changed <> counted;
CREATE TRIGGER quarter_returns_added AFTER INSERT ON quarter_returns BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period = NEW.period;
END;
CREATE TRIGGER quarter_returns_removed AFTER DELETE ON quarter_returns BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period = OLD.period;
END;
CREATE TRIGGER quarter_returns_ticked AFTER UPDATE OF ticker ON securities WHEN OLD.ticker IS NOT NEW.ticker BEGIN
    UPDATE returned_quarters SET due = 1 WHERE period IN (
        SELECT quarter_returns.period FROM price_series
        JOIN quarter_returns ON quarter_returns.series_id = price_series.id
        WHERE price_series.ticker IN (OLD.ticker, NEW.ticker)
    );
END;

-- Insiders' purchases by their day: what stands beside the purchases of funds.
CREATE INDEX insider_purchases_by_date ON insider_transactions (date, issuer_cik, owner_cik)
    WHERE superseded_by IS NULL AND direction = 1;
