-- part: with_terms
one.filed_at >= :first AND one.filed_at <= :last
    AND (:families = '[]' OR NOT EXISTS (
        SELECT 1 FROM json_each(:families) AS family WHERE NOT EXISTS (
            SELECT 1 FROM json_each(family.value) AS term JOIN filing_terms AS other
            ON other.term = term.value AND other.filed_at = one.filed_at AND other.number = one.number)))

-- name: filings_newest_first
-- The bound on the day lets the index begin at the cursor; the pair of day and number is the cursor itself.
SELECT one.filed_at, one.number
FROM filing_terms AS one
WHERE one.term = :term
    AND {with_terms}
    AND one.filed_at <= coalesce(:day, '9999-12-31')
    AND (:day IS NULL OR (one.filed_at, one.number) < (:day, :number))
ORDER BY one.filed_at DESC, one.number DESC
LIMIT :limit

-- name: filings_oldest_first
SELECT one.filed_at, one.number
FROM filing_terms AS one
WHERE one.term = :term
    AND {with_terms}
    AND one.filed_at >= coalesce(:day, '')
    AND (:day IS NULL OR (one.filed_at, one.number) > (:day, :number))
ORDER BY one.filed_at, one.number
LIMIT :limit

-- name: count_of_filings
-- Each filing once, though it may bear several of the terms.
SELECT count(*) FROM (
    SELECT DISTINCT one.filed_at, one.number
    FROM json_each(:terms)
    CROSS JOIN filing_terms AS one
    WHERE one.term = json_each.value
    AND {with_terms}
    LIMIT :most
)

-- name: term_count
SELECT filings FROM term_counts WHERE term = :term

-- name: filings_of_day
SELECT filings.accession AS accession_number, printf('%010d', filings.cik) AS cik, filings.form AS form_type,
    filings.accepted_at
FROM filing_terms AS one
JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
    one.number / 100000000, one.number / 1000000 % 100, one.number % 1000000)
WHERE one.term = '' AND one.filed_at = :day AND one.number > :after
ORDER BY one.number
LIMIT :limit OFFSET :offset

-- name: filing_count_of_day
SELECT count(*) FROM filing_terms WHERE term = '' AND filed_at = :day

-- name: form_counts
SELECT substr(term, 2) AS form, filings,
    (SELECT filed_at FROM filing_terms AS one WHERE one.term = term_counts.term AND filed_at > ''
        ORDER BY filed_at LIMIT 1) AS first,
    (SELECT filed_at FROM filing_terms AS one WHERE one.term = term_counts.term
        ORDER BY filed_at DESC LIMIT 1) AS last
FROM term_counts
WHERE term >= 'f' AND term < 'g'

-- name: form_count
SELECT filings,
    (SELECT filed_at FROM filing_terms AS one WHERE one.term = term_counts.term AND filed_at > ''
        ORDER BY filed_at LIMIT 1) AS first,
    (SELECT filed_at FROM filing_terms AS one WHERE one.term = term_counts.term
        ORDER BY filed_at DESC LIMIT 1) AS last
FROM term_counts
WHERE term = :term

-- name: top_forms
SELECT substr(term, 2) AS form_type, filings AS count FROM term_counts
WHERE term >= 'f' AND term < 'g'
ORDER BY filings DESC, term
LIMIT :limit

-- name: entities
SELECT printf('%010d', cik) AS cik, name AS entity_name FROM companies WHERE cik > :after ORDER BY cik
LIMIT :limit OFFSET :offset

-- name: entities_of_form
SELECT printf('%010d', companies.cik) AS cik, companies.name AS entity_name
FROM form_entities
JOIN companies ON companies.cik = form_entities.cik
WHERE form_entities.form = :form AND form_entities.cik > :after AND form_entities.filings > 0
ORDER BY form_entities.cik
LIMIT :limit OFFSET :offset

-- name: total_counts
-- A filing was accepted at the beginning of its day when only the day is known.
SELECT (SELECT number FROM held_counts WHERE name = 'tickers') AS tickers,
    (SELECT number FROM held_counts WHERE name = 'insiders') AS insiders,
    (SELECT max(period) FROM fund_quarters) AS last_13f_quarter,
    (
        SELECT coalesce(filings.accepted_at, filings.filed_at || 'T00:00:00.000Z')
        FROM filing_terms AS one
        JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
            one.number / 100000000, one.number / 1000000 % 100, one.number % 1000000)
        WHERE one.term = ''
        ORDER BY one.filed_at DESC, one.number DESC
        LIMIT 1
    ) AS last_filing_at

-- name: matching_descriptions
SELECT term, substr(term, 2) AS told
FROM term_counts
WHERE term >= 'd' AND term < 'e' AND told LIKE :first ESCAPE '\' AND told LIKE :second ESCAPE '\'

-- name: matching_companies_with_filings
-- Of ten thousand names this takes a millisecond; most companies of the SEC's list have no filing here.
SELECT DISTINCT 'c' || found.cik AS term, found.name AS told
FROM (
    SELECT cik, name FROM companies WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
    UNION ALL
    SELECT cik, name FROM former_names WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
) AS found
WHERE EXISTS (SELECT 1 FROM filing_terms WHERE filing_terms.term = 'c' || found.cik)
