-- name: coverage_of_company
SELECT count(DISTINCT fact_sets.filing_id) AS filings, min(fact_sets.source) AS source
FROM fact_sets
WHERE fact_sets.cik = :cik

-- name: filing_count_of_company
SELECT count(*)
FROM filing_parties
JOIN filings ON filings.id = filing_parties.filing_id
WHERE filing_parties.cik = :cik AND filings.accession NOT GLOB 'unfiled-*'

-- name: period_range_of_company
SELECT min(facts.end_day) AS first, max(facts.end_day) AS last
FROM fact_sets
JOIN facts ON facts.fact_set_id = fact_sets.id
WHERE fact_sets.cik = :cik AND facts.dimension_id = fact_sets.whole AND facts.hidden = 0 AND facts.days BETWEEN 60 AND 420

-- name: total_coverage
SELECT count(DISTINCT cik) AS companies, count(DISTINCT filing_id) AS filings FROM fact_sets

-- name: covered_companies
SELECT printf('%010d', page.cik) AS cik, company.ticker, company.name AS company_name,
    (SELECT count(DISTINCT filing_id) FROM fact_sets WHERE fact_sets.cik = page.cik) AS filings_indexed
FROM (
    SELECT DISTINCT cik FROM fact_sets WHERE cik BETWEEN :first AND :last ORDER BY cik LIMIT :limit OFFSET :offset
) AS page
JOIN companies_with_ticker AS company ON company.cik = page.cik
ORDER BY page.cik

-- name: largest_covered_companies
-- Companies of the SEC's list of tickers, which is sorted by size.
SELECT printf('%010d', company.cik) AS cik, company.ticker, company.name AS company_name,
    (SELECT count(DISTINCT filing_id) FROM fact_sets WHERE fact_sets.cik = company.cik) AS filings_indexed
FROM (
    SELECT cik, list_place FROM companies
    WHERE list_place IS NOT NULL AND EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.cik = companies.cik)
    ORDER BY list_place LIMIT :limit
) AS listed
JOIN companies_with_ticker AS company ON company.cik = listed.cik
ORDER BY listed.list_place

-- name: stored_filing_count
SELECT number FROM held_counts WHERE name = 'filings'

-- name: stored_filing_count_as_of
SELECT count(*) FROM filing_terms WHERE term = ''

-- name: matching_companies
-- A company of this ticker comes first, then the company of the CIK, then tickers and names that begin with the text, then
-- names and former names that contain it. Equal ones are in the order of the SEC's list of tickers, which is sorted by
-- size; companies without a place in it follow, those with figures first.
SELECT printf('%010d', cik) AS cik, ticker, name AS company
FROM (
    SELECT *, row_number() OVER (PARTITION BY cik ORDER BY match_rank, source DESC, position, ticker) AS ticker_rank
    FROM (
        SELECT companies.cik, companies.name, companies.list_place, tickers.ticker, tickers.source, tickers.position,
            CASE WHEN tickers.ticker = :ticker THEN 0
                WHEN companies.cik = :cik THEN 1
                WHEN :ticker <> '' AND tickers.ticker GLOB :ticker || '*' THEN 2
                WHEN instr(lower(companies.name), :text) = 1 THEN 2
                ELSE 3 END AS match_rank
        FROM companies
        LEFT JOIN tickers ON tickers.cik = companies.cik
        WHERE companies.cik IN (
            SELECT :cik
            UNION ALL
            SELECT holder.cik FROM tickers AS holder
            WHERE :ticker <> '' AND holder.ticker >= :ticker AND holder.ticker < :ticker || char(65535)
            UNION ALL
            SELECT named.cik FROM companies AS named WHERE named.name LIKE :like ESCAPE '\'
            UNION ALL
            SELECT former_names.cik FROM former_names WHERE former_names.name LIKE :like ESCAPE '\'
        )
    )
) AS matches
WHERE ticker_rank = 1
ORDER BY match_rank, list_place IS NULL, list_place, EXISTS (SELECT 1 FROM fact_sets WHERE fact_sets.cik = matches.cik) DESC,
    source DESC, position, name, matches.cik
LIMIT :limit OFFSET :offset
