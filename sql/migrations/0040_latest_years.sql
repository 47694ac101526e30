-- The latest fiscal year of each company of which facts are held, so that a screen of thousands reads rows. stamp is
-- another number each time that anything changes that a company's figures depend on; figures are true while made_of is
-- the stamp and made_by the rules in force.
CREATE TABLE latest_years (
    cik     INTEGER PRIMARY KEY,
    stamp   INTEGER NOT NULL,
    made_of INTEGER,
    made_by TEXT,
    figures TEXT
) STRICT;
INSERT INTO latest_years (cik, stamp) SELECT cik, random() FROM fact_sets GROUP BY cik;

CREATE TRIGGER fact_sets_added AFTER INSERT ON fact_sets BEGIN
    INSERT INTO latest_years (cik, stamp) VALUES (NEW.cik, random())
    ON CONFLICT (cik) DO UPDATE SET stamp = excluded.stamp;
    UPDATE held_counts SET number = number + NEW.shown WHERE name = 'facts';
END;
CREATE TRIGGER fact_sets_removed AFTER DELETE ON fact_sets BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = OLD.cik;
    UPDATE held_counts SET number = number - OLD.shown WHERE name = 'facts';
END;
CREATE TRIGGER fact_sets_changed AFTER UPDATE OF filing_id, fiscal_year, whole, shown ON fact_sets
WHEN (OLD.filing_id, OLD.fiscal_year, OLD.whole, OLD.shown) IS NOT (NEW.filing_id, NEW.fiscal_year, NEW.whole, NEW.shown)
BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik;
    UPDATE held_counts SET number = number + NEW.shown - OLD.shown WHERE name = 'facts';
END;
CREATE TRIGGER filings_changed AFTER UPDATE OF form, filed_at ON filings
WHEN (OLD.form, OLD.filed_at) IS NOT (NEW.form, NEW.filed_at) BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM fact_sets WHERE filing_id = NEW.id);
END;
CREATE TRIGGER companies_changed AFTER UPDATE OF sic, fiscal_year_end, facts_changed ON companies
WHEN (OLD.sic, OLD.fiscal_year_end, OLD.facts_changed) IS NOT (NEW.sic, NEW.fiscal_year_end, NEW.facts_changed) BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik;
END;

-- Prices are those of the ticker that a company is called by.
CREATE TRIGGER price_series_added AFTER INSERT ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = NEW.ticker);
END;
CREATE TRIGGER price_series_changed AFTER UPDATE ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = NEW.ticker);
END;
CREATE TRIGGER price_series_removed AFTER DELETE ON price_series BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik IN (SELECT cik FROM tickers WHERE ticker = OLD.ticker);
END;
CREATE TRIGGER tickers_added AFTER INSERT ON tickers BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'tickers';
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = NEW.cik);
END;
CREATE TRIGGER tickers_changed AFTER UPDATE OF source, position, last_seen ON tickers BEGIN
    UPDATE latest_years SET stamp = random() WHERE cik = NEW.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = NEW.cik);
END;
CREATE TRIGGER tickers_removed BEFORE DELETE ON tickers BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'tickers';
    UPDATE latest_years SET stamp = random() WHERE cik = OLD.cik AND EXISTS (
        SELECT 1 FROM tickers JOIN price_series ON price_series.ticker = tickers.ticker WHERE tickers.cik = OLD.cik);
END;

INSERT INTO held_counts
SELECT 'companies', count(*) FROM companies
UNION ALL
SELECT 'facts', coalesce(sum(shown), 0) FROM fact_sets
UNION ALL
SELECT 'tickers', count(*) FROM tickers
UNION ALL
SELECT 'insiders', count(*) FROM insiders;
CREATE TRIGGER companies_added AFTER INSERT ON companies BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'companies';
END;
CREATE TRIGGER companies_removed AFTER DELETE ON companies BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'companies';
END;
CREATE TRIGGER insiders_added AFTER INSERT ON insiders BEGIN
    UPDATE held_counts SET number = number + 1 WHERE name = 'insiders';
END;
CREATE TRIGGER insiders_removed AFTER DELETE ON insiders BEGIN
    UPDATE held_counts SET number = number - 1 WHERE name = 'insiders';
END;
