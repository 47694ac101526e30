-- part: with_terms
filing_term.filed_at >= :first AND filing_term.filed_at <= :last
    AND (:term_groups = '[]' OR NOT EXISTS (
        SELECT 1 FROM json_each(:term_groups) AS term_group WHERE NOT EXISTS (
            SELECT 1 FROM json_each(term_group.value) AS term JOIN filing_terms AS other
            ON other.term = term.value AND other.filed_at = filing_term.filed_at AND other.number = filing_term.number)))

-- name: filings_newest_first
-- The cursor is the pair of day and number. The condition on the day alone lets the index scan start at the cursor.
SELECT filing_term.filed_at, filing_term.number
FROM filing_terms AS filing_term
WHERE filing_term.term = :term
    AND {with_terms}
    AND filing_term.filed_at <= coalesce(:day, '9999-12-31')
    AND (:day IS NULL OR (filing_term.filed_at, filing_term.number) < (:day, :number))
ORDER BY filing_term.filed_at DESC, filing_term.number DESC
LIMIT :limit

-- name: filings_oldest_first
SELECT filing_term.filed_at, filing_term.number
FROM filing_terms AS filing_term
WHERE filing_term.term = :term
    AND {with_terms}
    AND filing_term.filed_at >= coalesce(:day, '')
    AND (:day IS NULL OR (filing_term.filed_at, filing_term.number) > (:day, :number))
ORDER BY filing_term.filed_at, filing_term.number
LIMIT :limit

-- name: count_of_filings
-- A filing that has several of the terms is counted once.
SELECT count(*) FROM (
    SELECT DISTINCT filing_term.filed_at, filing_term.number
    FROM json_each(:terms)
    CROSS JOIN filing_terms AS filing_term
    WHERE filing_term.term = json_each.value
    AND {with_terms}
    LIMIT :most
)

-- name: count_of_filings_of_term
SELECT count(*) FROM (
    SELECT 1 FROM filing_terms WHERE term = :term AND filed_at >= :first AND filed_at <= :last LIMIT :most
)

-- name: count_of_filings_of_term_as_of
-- The view filing_terms would compare the day of each row.
SELECT count(*) FROM (
    SELECT 1 FROM main.filing_terms
    WHERE term = :term AND filed_at >= max(:first, '0') AND filed_at <= min(:last, (SELECT day FROM as_of_day))
    LIMIT :most
)

-- name: term_count
SELECT filings FROM term_counts WHERE term = :term

-- name: filings_of_day
SELECT filings.accession AS accession_number, printf('%010d', filings.cik) AS cik, filings.form AS form_type,
    filings.accepted_at
FROM filing_terms AS filing_term
JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
    filing_term.number / 100000000, filing_term.number / 1000000 % 100, filing_term.number % 1000000)
WHERE filing_term.term = '' AND filing_term.filed_at = :day AND filing_term.number > :after
ORDER BY filing_term.number
LIMIT :limit OFFSET :offset

-- name: form_names
SELECT substr(term, 2) AS form FROM term_counts WHERE term >= 'f' AND term < 'g'

-- name: form_counts
SELECT substr(term, 2) AS form, filings,
    (SELECT filed_at FROM filing_terms AS filing_term WHERE filing_term.term = term_counts.term AND filed_at > ''
        ORDER BY filed_at LIMIT 1) AS first,
    (SELECT filed_at FROM filing_terms AS filing_term WHERE filing_term.term = term_counts.term
        ORDER BY filed_at DESC LIMIT 1) AS last
FROM term_counts
WHERE term >= 'f' AND term < 'g'

-- name: form_count
SELECT filings,
    (SELECT filed_at FROM filing_terms AS filing_term WHERE filing_term.term = term_counts.term AND filed_at > ''
        ORDER BY filed_at LIMIT 1) AS first,
    (SELECT filed_at FROM filing_terms AS filing_term WHERE filing_term.term = term_counts.term
        ORDER BY filed_at DESC LIMIT 1) AS last
FROM term_counts
WHERE term = :term

-- name: top_forms
SELECT substr(term, 2) AS form_type, filings AS count FROM term_counts
WHERE term >= 'f' AND term < 'g'
ORDER BY filings DESC, term
LIMIT :limit

-- name: form_counts_of_terms
-- A filing of several of the companies counts once.
SELECT form AS value, count(*) AS row_count, min(filed_at) AS first_day, max(filed_at) AS last_day
FROM (
    SELECT DISTINCT filings.id, filings.form, filings.filed_at
    FROM json_each(:terms) AS company
    JOIN filing_terms AS filing_term ON filing_term.term = company.value
    JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
        filing_term.number / 100000000, filing_term.number / 1000000 % 100, filing_term.number % 1000000)
)
WHERE form IS NOT NULL
GROUP BY form
ORDER BY row_count DESC, form

-- name: entities
-- The column cik of the result is a text, by which SQLite would sort all companies.
SELECT printf('%010d', cik) AS cik, name AS entity_name FROM companies WHERE cik > :after ORDER BY companies.cik
LIMIT :limit OFFSET :offset

-- name: entities_of_form
SELECT printf('%010d', companies.cik) AS cik, companies.name AS entity_name
FROM form_entities
JOIN companies ON companies.cik = form_entities.cik
WHERE form_entities.form = :form AND form_entities.cik > :after AND form_entities.filings > 0
ORDER BY form_entities.cik
LIMIT :limit OFFSET :offset

-- name: total_counts
-- If only its day is known, a filing counts as accepted at the beginning of the day.
SELECT (SELECT number FROM held_counts WHERE name = 'tickers') AS tickers,
    (SELECT number FROM held_counts WHERE name = 'insiders') AS insiders,
    (SELECT max(period) FROM fund_quarters WHERE is_early = 0) AS last_13f_quarter,
    (
        SELECT coalesce(filings.accepted_at, filings.filed_at || 'T00:00:00.000Z')
        FROM filing_terms AS filing_term
        JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
            filing_term.number / 100000000, filing_term.number / 1000000 % 100, filing_term.number % 1000000)
        WHERE filing_term.term = ''
        ORDER BY filing_term.filed_at DESC, filing_term.number DESC
        LIMIT 1
    ) AS last_filing_at

-- name: matching_descriptions
SELECT term, substr(term, 2) AS name
FROM term_counts
WHERE term >= 'd' AND term < 'e' AND name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'

-- name: matching_companies_with_filings
-- Most companies of the SEC's list have no stored filing. Scanning ten thousand names takes a millisecond.
SELECT DISTINCT 'c' || names.cik AS term, names.name AS name
FROM (
    SELECT cik, name FROM companies WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
    UNION ALL
    SELECT cik, name FROM former_names WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
) AS names
WHERE EXISTS (SELECT 1 FROM filing_terms WHERE filing_terms.term = 'c' || names.cik)

-- name: matching_companies_with_filings_as_of
-- The view companies looks up the name of the day, which takes long for all companies. So it is only read for those that
-- have, or had, a matching name.
SELECT DISTINCT 'c' || names.cik AS term, names.name AS name
FROM (
    SELECT cik, name FROM companies
    WHERE cik IN (
            SELECT cik FROM main.companies WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
            UNION
            SELECT cik FROM main.former_names WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
        )
        AND name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
    UNION ALL
    SELECT cik, name FROM former_names WHERE name LIKE :first ESCAPE '\' AND name LIKE :second ESCAPE '\'
) AS names
WHERE EXISTS (SELECT 1 FROM filing_terms WHERE filing_terms.term = 'c' || names.cik)
