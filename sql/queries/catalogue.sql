-- name: filings_down
-- The bound on the day lets the index begin at the cursor; the pair of day and number is the cursor itself.
SELECT one.filed_at, one.number
FROM filing_terms AS one
WHERE one.term = :term
    AND one.filed_at >= :first AND one.filed_at <= :last
    AND (:one IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:one) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:two IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:two) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:three IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:three) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND one.filed_at <= coalesce(:day, '9999-12-31')
    AND (:day IS NULL OR (one.filed_at, one.number) < (:day, :number))
ORDER BY one.filed_at DESC, one.number DESC
LIMIT :limit

-- name: filings_up
SELECT one.filed_at, one.number
FROM filing_terms AS one
WHERE one.term = :term
    AND one.filed_at >= :first AND one.filed_at <= :last
    AND (:one IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:one) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:two IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:two) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:three IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:three) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND one.filed_at >= coalesce(:day, '')
    AND (:day IS NULL OR (one.filed_at, one.number) > (:day, :number))
ORDER BY one.filed_at, one.number
LIMIT :limit

-- name: filings_count
-- Each filing once, though it may bear several of the terms.
SELECT count(*) FROM (
    SELECT DISTINCT one.filed_at, one.number
    FROM json_each(:terms)
    CROSS JOIN filing_terms AS one
    WHERE one.term = json_each.value
    AND one.filed_at >= :first AND one.filed_at <= :last
    AND (:one IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:one) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:two IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:two) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    AND (:three IS NULL OR EXISTS (
        SELECT 1 FROM json_each(:three) JOIN filing_terms AS other
        ON other.term = json_each.value AND other.filed_at = one.filed_at AND other.number = one.number))
    LIMIT :most
)

-- name: term_count
SELECT filings FROM term_counts WHERE term = :term

-- name: filings_named
SELECT id, accession, form, filed_at, accepted_at, period_of_report, primary_document, description, items, size,
    is_xbrl, nullif(first_seen_at, '') AS first_seen_at, nullif(updated_at, '') AS updated_at
FROM filings
WHERE accession IN (SELECT value FROM json_each(:accessions))

-- name: parties_of
SELECT filings.id AS filing_id, filing_parties.cik, filing_parties.rank, companies.name, companies.sic, (
        SELECT ticker FROM tickers WHERE tickers.cik = companies.cik
        ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
    ) AS ticker
FROM filings
JOIN filing_parties ON filing_parties.filing_id = filings.id
JOIN companies ON companies.cik = filing_parties.cik
WHERE filings.accession IN (SELECT value FROM json_each(:accessions))

-- name: documents_of
SELECT filing_documents.filing_id, filing_documents.type, filing_documents.filename,
    filing_documents.description, filing_documents.size
FROM filings
JOIN filing_documents ON filing_documents.filing_id = filings.id
WHERE filings.accession IN (SELECT value FROM json_each(:accessions))
ORDER BY filing_documents.filing_id, filing_documents.seq

-- name: has_text
SELECT EXISTS (
    SELECT 1 FROM filings JOIN filing_bodies ON filing_bodies.filing_id = filings.id
    WHERE filings.accession = :accession
)

-- name: filings_of_day
SELECT filings.accession, filings.cik, filings.form, filings.accepted_at
FROM filing_terms AS one
JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
    one.number / 100000000, one.number / 1000000 % 100, one.number % 1000000)
WHERE one.term = '' AND one.filed_at = :day AND one.number > :after
ORDER BY one.number
LIMIT :limit

-- name: count_of_day
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
SELECT substr(term, 2) AS form, filings FROM term_counts
WHERE term >= 'f' AND term < 'g'
ORDER BY filings DESC, term
LIMIT :limit

-- name: entities
SELECT cik, name FROM companies WHERE cik > :after ORDER BY cik LIMIT :limit

-- name: entities_of_form
SELECT companies.cik, companies.name
FROM form_entities
JOIN companies ON companies.cik = form_entities.cik
WHERE form_entities.form = :form AND form_entities.cik > :after AND form_entities.filings > 0
ORDER BY form_entities.cik
LIMIT :limit

-- name: newest_filing
SELECT filings.filed_at, filings.accepted_at
FROM filing_terms AS one
JOIN filings ON filings.accession = printf('%010d-%02d-%06d',
    one.number / 100000000, one.number / 1000000 % 100, one.number % 1000000)
WHERE one.term = ''
ORDER BY one.filed_at DESC, one.number DESC
LIMIT 1

-- name: ticker_count
SELECT count(*) FROM tickers

-- name: insider_count
SELECT count(*) FROM insiders

-- name: last_13f_quarter
SELECT max(period) FROM fund_quarters
