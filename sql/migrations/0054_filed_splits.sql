-- Splits as companies' own filings tell them: after one day and not after another, on a date where that is known.
-- Written with the kept book of a company, and anew whenever that is.
CREATE TABLE filed_splits (
    cik       INTEGER NOT NULL,
    factor    TEXT NOT NULL,
    date      TEXT,
    after     TEXT NOT NULL,
    until     TEXT NOT NULL,
    accession TEXT NOT NULL,
    PRIMARY KEY (cik, until, factor)
) STRICT, WITHOUT ROWID;
CREATE INDEX filed_splits_by_day ON filed_splits (until);

-- The splits of securities in shares. What files of prices tell of a ticker goes before filings that tell it too.
CREATE VIEW security_splits AS
SELECT securities.id AS security_id, action.value AS factor, 'prices' AS source, action.date,
    date(action.date, '-1 day') AS after, action.date AS until
FROM price_actions AS action
JOIN price_series ON price_series.id = action.series_id AND NOT price_series.synthetic
JOIN securities ON securities.ticker = price_series.ticker
WHERE action.kind = 'split'
UNION ALL
SELECT securities.id, filed.factor, filed.accession, filed.date, filed.after, filed.until
FROM filed_splits AS filed
JOIN securities ON securities.cik = filed.cik
    AND securities.ticker IN (SELECT ticker FROM share_tickers WHERE share_tickers.cik = filed.cik)
WHERE NOT EXISTS (
    SELECT 1 FROM price_series AS priced
    JOIN price_actions AS told ON told.series_id = priced.id AND told.kind = 'split'
    WHERE priced.ticker = securities.ticker AND NOT priced.synthetic
        AND abs(told.value - filed.factor) < 0.01 * filed.factor
        AND told.date BETWEEN date(filed.after, '-45 days') AND date(filed.until, '+45 days')
);

-- What told a position's split_factor: prices, or the filings by accession number.
ALTER TABLE positions ADD COLUMN split_source TEXT;
UPDATE positions SET split_source = 'prices' WHERE split_factor IS NOT NULL;

-- Quarters in which a split of filings may have been.
CREATE VIEW filed_split_quarters AS
SELECT cik, factor, until, period FROM (
    SELECT filed.cik, filed.factor, filed.after, filed.until, date(filed.after, 'start of month',
        '+' || ((12 - strftime('%m', filed.after)) % 3 + 1 + 3 * steps.value) || ' months', '-1 day') AS period
    FROM filed_splits AS filed
    CROSS JOIN json_each('[0,1,2,3,4,5,6,7,8]') AS steps
)
WHERE period > after AND date(period, 'start of month', '-2 months', '-1 day') < until;

CREATE TRIGGER filed_splits_told AFTER INSERT ON filed_splits BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik
    WHERE told.cik = NEW.cik AND told.until = NEW.until AND told.factor = NEW.factor;
END;
CREATE TRIGGER filed_splits_untold BEFORE DELETE ON filed_splits BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik
    WHERE told.cik = OLD.cik AND told.until = OLD.until AND told.factor = OLD.factor;
END;
CREATE TRIGGER filed_splits_priced AFTER INSERT ON price_actions WHEN NEW.kind = 'split' BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM price_series
    JOIN securities ON securities.ticker = price_series.ticker
    JOIN filed_split_quarters AS told ON told.cik = securities.cik
    WHERE price_series.id = NEW.series_id;
END;
-- Which securities are a company's shares is concluded from names and tickers, which may come later.
CREATE TRIGGER securities_of_splits AFTER UPDATE OF ticker, cik ON securities
WHEN (OLD.ticker, OLD.cik) IS NOT (NEW.ticker, NEW.cik) BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT NEW.id, period FROM filed_split_quarters WHERE cik IN (OLD.cik, NEW.cik);
END;
CREATE TRIGGER tickers_of_splits_added AFTER INSERT ON tickers BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik WHERE told.cik = NEW.cik;
END;
CREATE TRIGGER tickers_of_splits_removed AFTER DELETE ON tickers BEGIN
    INSERT OR IGNORE INTO holdings_resplit
    SELECT securities.id, told.period FROM filed_split_quarters AS told
    JOIN securities ON securities.cik = told.cik WHERE told.cik = OLD.cik;
END;
