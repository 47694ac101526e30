-- The adjusted close that a file states counts while no file told of dividends or splits (acted), by which it could
-- be worked out.
ALTER TABLE prices ADD COLUMN adj_close TEXT;
ALTER TABLE price_series ADD COLUMN acted INTEGER NOT NULL DEFAULT 0;
UPDATE price_series SET acted = 1 WHERE synthetic OR id IN (SELECT series_id FROM price_actions);

-- Changes of holdings are counted in the shares of their quarter: previous_shares are times split_factor, what the
-- splits since the quarter before made of a share. Made-up prices say nothing of what funds held.
ALTER TABLE positions ADD COLUMN split_factor TEXT;
CREATE INDEX splits_by_day ON price_actions (date) WHERE kind = 'split';

-- Securities and quarters of which a split, or the ticker that it is known by, changed since they were settled.
CREATE TABLE holdings_resplit (
    security_id INTEGER NOT NULL REFERENCES securities (id),
    period      TEXT NOT NULL,
    PRIMARY KEY (security_id, period)
) STRICT, WITHOUT ROWID;
CREATE VIEW split_quarters AS
SELECT price_series.ticker, price_actions.series_id, price_actions.date,
    date(price_actions.date, 'start of month', '+' || ((12 - strftime('%m', price_actions.date)) % 3 + 1) || ' months',
        '-1 day') AS period
FROM price_actions
JOIN price_series ON price_series.id = price_actions.series_id AND NOT price_series.synthetic
WHERE price_actions.kind = 'split';
CREATE TRIGGER splits_told AFTER INSERT ON price_actions WHEN NEW.kind = 'split' BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, split_quarters.period FROM split_quarters
    JOIN securities ON securities.ticker = split_quarters.ticker
    WHERE split_quarters.series_id = NEW.series_id AND split_quarters.date = NEW.date;
END;
CREATE TRIGGER securities_ticked AFTER UPDATE OF ticker ON securities WHEN OLD.ticker IS NOT NEW.ticker BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT NEW.id, period FROM split_quarters WHERE ticker IN (OLD.ticker, NEW.ticker);
END;
INSERT OR IGNORE INTO holdings_resplit
SELECT securities.id, split_quarters.period FROM split_quarters
JOIN securities ON securities.ticker = split_quarters.ticker;

-- What the SEC's own files say of CUSIPs: the symbol that a security failed to be delivered under, as last told, and
-- the securities that 13F reports are to list.
CREATE TABLE failed_securities (
    cusip  TEXT PRIMARY KEY,
    ticker TEXT NOT NULL,
    name   TEXT NOT NULL,
    as_of  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX failed_securities_by_ticker ON failed_securities (ticker);
CREATE TABLE listed_securities (cusip TEXT PRIMARY KEY, status TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- A name that a company had counts only where nobody has it.
ALTER TABLE company_keys ADD COLUMN former INTEGER NOT NULL DEFAULT 0;
UPDATE securities SET evidence = CASE evidence WHEN 'cusip_mapping' THEN 'csv' WHEN 'issuer_name' THEN 'name' END;

-- The tickers of a company's shares: no preferred ones, warrants, rights or units. class is the letter of a share class
-- and class_of the ticker without it: BRK-B is B of BRK, FOXA is A of FOX. GOOGL and ZG stand for A beside GOOG and Z.
CREATE VIEW share_tickers AS
SELECT cik, ticker, source, last_seen, position,
    CASE WHEN ticker IN ('GOOGL', 'ZG') THEN 'A' WHEN ticker GLOB '*-[A-D]' THEN substr(ticker, -1)
        WHEN sister THEN replace(substr(ticker, -1), 'K', 'C') END AS class,
    CASE WHEN ticker GLOB '*-[A-D]' THEN substr(ticker, 1, length(ticker) - 2)
        WHEN sister OR ticker IN ('GOOGL', 'ZG') THEN substr(ticker, 1, length(ticker) - 1) END AS class_of
FROM (
    SELECT *, ticker GLOB '*[ABCK]' AND EXISTS (
        SELECT 1 FROM tickers AS other
        WHERE other.cik = tickers.cik AND other.ticker = substr(tickers.ticker, 1, length(tickers.ticker) - 1)
    ) AS sister
    FROM tickers
    WHERE ticker NOT GLOB '*-P*' AND ticker NOT GLOB '*-[WRU]*' AND ticker NOT GLOB '????[WRU]'
);
