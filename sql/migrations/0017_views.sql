-- What the SQL proxy may read: views of public market data, with names of their own that no table has. A CIK is a
-- number here, as it is in the tables: a text of ten digits could not be searched for.

CREATE VIEW company AS
SELECT cik, name, sic, state, fiscal_year_end, entity_type FROM companies;

CREATE VIEW former_name AS
SELECT cik, name, from_date, to_date FROM former_names;

CREATE VIEW ticker AS
SELECT ticker AS symbol, cik, exchange, last_seen FROM tickers;

CREATE VIEW filing AS
SELECT accession AS accession_number, cik, form AS form_type, filed_at, accepted_at, period_of_report, items,
    primary_document, size, is_xbrl
FROM filings
WHERE accession NOT GLOB 'unfiled-*';

CREATE VIEW filing_party AS
SELECT filings.accession AS accession_number, filing_parties.cik
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id;

CREATE VIEW price AS
SELECT price_series.ticker AS symbol, prices.date, CAST(prices.open AS REAL) AS open,
    CAST(prices.high AS REAL) AS high, CAST(prices.low AS REAL) AS low, CAST(prices.close AS REAL) AS close,
    prices.volume, price_series.synthetic
FROM price_series
JOIN prices ON prices.series_id = price_series.id;

CREATE VIEW price_action AS
SELECT price_series.ticker AS symbol, price_actions.date, price_actions.kind,
    CAST(price_actions.value AS REAL) AS value
FROM price_series
JOIN price_actions ON price_actions.series_id = price_series.id;

-- Without dimensions, each figure from the one source that speaks for its filing. A unit of 0 is that of a text,
-- which is no number.
CREATE VIEW fact AS
SELECT fact_sets.cik, filings.accession AS accession_number, filings.form AS form_type, filings.filed_at,
    concepts.name AS concept, units.name AS unit,
    CASE WHEN facts.days = 0 THEN NULL ELSE date((facts.end_day - facts.days + 1) * 86400, 'unixepoch') END
        AS start_date,
    date(facts.end_day * 86400, 'unixepoch') AS end_date, facts.days, facts.value,
    CASE WHEN facts.unit_id = 0 THEN NULL ELSE CAST(facts.value AS REAL) END AS number
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
JOIN facts ON facts.fact_set_id = fact_sets.id AND facts.dimension_id = 0 AND facts.hidden = 0
JOIN concepts ON concepts.id = facts.concept_id
JOIN units ON units.id = facts.unit_id;
