-- name: lookup_sets
-- Which sources speak of which filings of a company, the last filed first.
SELECT fact_sets.id, fact_sets.source, fact_sets.cik, filings.accession, filings.form, filings.filed_at,
    coalesce(filings.period_of_report, reports.period_of_report) AS period
FROM fact_sets
JOIN filings ON filings.id = fact_sets.filing_id
LEFT JOIN reports ON reports.id = fact_sets.report_id
WHERE fact_sets.cik = :cik AND (:as_of IS NULL OR filings.filed_at <= :as_of)
ORDER BY filings.filed_at IS NULL, filings.filed_at DESC, filings.accession DESC, fact_sets.source, fact_sets.id

-- name: lookup_sets_of_filing
SELECT fact_sets.id, fact_sets.source, fact_sets.cik, filings.accession, filings.form, filings.filed_at,
    coalesce(filings.period_of_report, reports.period_of_report) AS period
FROM filings
JOIN fact_sets ON fact_sets.filing_id = filings.id
LEFT JOIN reports ON reports.id = fact_sets.report_id
WHERE filings.accession = :accession AND (:as_of IS NULL OR filings.filed_at <= :as_of)
    AND (:cik IS NULL OR fact_sets.cik = :cik)
ORDER BY fact_sets.cik, fact_sets.source, fact_sets.id

-- name: concepts_called
SELECT id, name FROM concepts WHERE name IN (SELECT value FROM json_each(:names)) ORDER BY name

-- name: facts_of_concept
SELECT count(*)
FROM facts
WHERE concept_id = :concept AND dimension_id = 0 AND hidden = 0
    AND end_day BETWEEN :first AND :last

-- name: day_of_concept
-- The day of the last row that a page shows; its whole day is read, because rows of one day have no order here.
SELECT end_day
FROM facts
WHERE concept_id = :concept AND dimension_id = 0 AND hidden = 0
    AND end_day BETWEEN :first AND :last
ORDER BY end_day DESC
LIMIT 1 OFFSET :offset

-- name: rows_of_concept
SELECT fact_sets.cik, filings.accession, filings.form, filings.filed_at, companies.sic, facts.end_day, facts.days,
    facts.unit_id, facts.value
FROM facts
JOIN fact_sets ON fact_sets.id = facts.fact_set_id
JOIN filings ON filings.id = fact_sets.filing_id
JOIN companies ON companies.cik = fact_sets.cik
WHERE facts.concept_id = :concept AND facts.dimension_id = 0 AND facts.hidden = 0
    AND facts.end_day BETWEEN :first AND :last
    AND facts.days BETWEEN :shortest AND :longest

-- name: coverage_of_company
SELECT count(DISTINCT fact_sets.filing_id) AS filings, min(fact_sets.source) AS source
FROM fact_sets
WHERE fact_sets.cik = :cik

-- name: filings_of_company
SELECT count(*)
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id
WHERE filing_parties.cik = :cik AND filings.accession NOT GLOB 'unfiled-*'

-- name: periods_of_company
SELECT min(facts.end_day) AS first, max(facts.end_day) AS last
FROM fact_sets
JOIN facts ON facts.fact_set_id = fact_sets.id
WHERE fact_sets.cik = :cik AND facts.dimension_id = 0 AND facts.hidden = 0 AND facts.days BETWEEN 60 AND 420

-- name: coverage_of_all
SELECT count(DISTINCT cik) AS companies, count(DISTINCT filing_id) AS filings FROM fact_sets

-- name: held
-- Figures as they are answered: without dimensions, each from the one source that speaks for its filing.
SELECT
    (SELECT count(*) FROM companies) AS companies,
    (SELECT count(*) FROM filings WHERE accession NOT GLOB 'unfiled-*') AS filings,
    (SELECT count(*) FROM facts WHERE dimension_id = 0 AND hidden = 0) AS facts,
    (SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL) AS insider_transactions,
    (SELECT count(*) FROM holdings) AS holdings,
    (SELECT count(*) FROM prices) AS prices,
    (SELECT version FROM data_version) AS data_version

-- name: filings_of_all
SELECT count(*) FROM filings WHERE accession NOT GLOB 'unfiled-*'

-- name: companies_like
-- A ticker that is what was asked for, then one that begins with it, then names that begin with it or hold it; of
-- these first the companies of which figures are held.
SELECT companies.cik, companies.name, tickers.ticker,
    CASE WHEN tickers.ticker = :ticker THEN 0
        WHEN companies.cik = :cik THEN 1
        WHEN :ticker <> '' AND tickers.ticker GLOB :ticker || '*' THEN 2
        WHEN instr(lower(companies.name), :text) = 1 THEN 3
        ELSE 4 END AS place
FROM companies
LEFT JOIN tickers ON tickers.cik = companies.cik
WHERE companies.cik = :cik
    OR (:ticker <> '' AND tickers.ticker GLOB :ticker || '*')
    OR instr(lower(companies.name), :text) > 0
ORDER BY place, EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.cik = companies.cik) DESC,
    tickers.source DESC, tickers.position, companies.name, companies.cik, tickers.ticker
LIMIT :limit

-- name: report_sections
SELECT seq, role_uri, definition, kind,
    EXISTS (SELECT 1 FROM section_columns WHERE section_columns.section_id = sections.id) AS columns
FROM sections
WHERE report_id = :report_id
ORDER BY seq
