-- part: named
SELECT found.*, coalesce(
    (SELECT name FROM funds WHERE funds.cik = found.cik AND filing_count > 0),
    (SELECT name FROM insiders WHERE insiders.cik = found.cik),
    (SELECT name FROM schedule_persons WHERE holder = found.id ORDER BY filed_day DESC, filing_id DESC LIMIT 1)
) AS name

-- part: is_kind
CASE :kind WHEN 'insider' THEN form_4 WHEN 'institutional' THEN form_13f WHEN 'beneficial_owner' THEN form_13dg ELSE 1 END > 0

-- name: holders_of_kind
{named}
FROM (SELECT * FROM holders WHERE filings > 0 AND {is_kind} ORDER BY filings DESC, id LIMIT :limit OFFSET :offset) AS found

-- name: holders_of_kind_count
SELECT count(*) FROM holders INDEXED BY holders_by_filings WHERE filings > 0 AND {is_kind}

-- name: holders_of_ids
{named}, count(*) OVER () AS total
FROM (
    SELECT holders.* FROM json_each(:ids) AS wanted CROSS JOIN holders ON holders.id = wanted.value WHERE {is_kind}
) AS found
ORDER BY filings DESC, id
LIMIT :limit OFFSET :offset

-- name: holders_with_word
-- Of every table of names at most so many.
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik) AS holder
FROM (
    SELECT DISTINCT cik FROM insider_words WHERE word >= :word AND word < :word || char(1114111) AND kind = 0 LIMIT :limit
) AS found
UNION
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik)
FROM (
    SELECT DISTINCT cik FROM fund_words WHERE word >= upper(:word) AND word < upper(:word) || char(1114111) LIMIT :limit
) AS found
UNION
SELECT holder FROM (
    SELECT DISTINCT holder FROM schedule_words WHERE word >= :word AND word < :word || char(1114111) LIMIT :limit
) AS found

-- name: holder_names
-- What it was called; of schedules those that it filed last.
SELECT name FROM funds WHERE cik = :cik AND filing_count > 0
UNION SELECT name FROM holdings_reports WHERE cik = :cik
UNION SELECT name FROM insiders WHERE cik = :cik
UNION SELECT name FROM companies WHERE cik = :cik AND name_rank > -2
UNION SELECT name FROM former_names WHERE cik = :cik
UNION SELECT name FROM (
    SELECT name FROM schedule_persons WHERE holder = :holder ORDER BY filed_day DESC, filing_id DESC LIMIT 500
) AS found
ORDER BY 1
LIMIT 100

-- part: of_13f
-- Several sets of documents may claim one accession number.
SELECT 'form_13f' AS source, form AS form_type, accession, CAST(replace(accession, '-', '') AS INTEGER) AS number,
    filed_at AS filed, NULL AS issuer_cik, NULL AS issuer_name, NULL AS seller_name, max(id) AS id
FROM holdings_reports WHERE cik = :cik GROUP BY accession

-- part: of_13dg
SELECT 'form_13dg', filing.form, filing.accession, filing.id, coalesce(filing.filed_at, ''), filing.issuer_cik,
    filing.issuer_name, NULL, person.id
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.holder = :holder AND NOT EXISTS (
    SELECT 1 FROM schedule_persons AS same
    WHERE same.filing_id = person.filing_id AND same.holder = person.holder AND same.seq < person.seq
)
ORDER BY person.filed_day DESC, person.filing_id DESC LIMIT :upto

-- part: of_4
SELECT 'form_4', form.form, form.accession, form.id, coalesce(form.filed_at, ''), form.issuer_cik, NULL, NULL, form.id
FROM insider_form_owners AS owner
JOIN insider_forms AS form ON form.id = owner.form_id
WHERE owner.owner_cik = :cik
ORDER BY owner.filed_day DESC, owner.form_id DESC LIMIT :upto

-- part: of_144
SELECT 'form_144', form, accession, id, coalesce(filed_at, ''), issuer_cik, issuer_name, seller, id
FROM sale_notices WHERE filer_cik = :cik
ORDER BY filed_day DESC, id DESC LIMIT :upto

-- name: filings_of_holder
-- The newest of each family are enough for the newest of all. Lists name columns in two ways.
SELECT found.*, form_type AS formType, accession AS accession_number, accession AS accessionNumber, filed_at AS filedAt,
    iif(issuer_cik IS NULL, NULL, printf('%010d', issuer_cik)) AS issuerCik, issuer.ticker AS issuer_ticker,
    issuer.ticker AS issuerTicker, coalesce(issuer.name, issuer_name) AS issuerName
FROM (
    SELECT found.*, coalesce(
        (SELECT accepted_at FROM filings WHERE filings.accession = found.accession),
        nullif(filed, '') || 'T00:00:00.000Z'
    ) AS filed_at
    FROM (SELECT * FROM ({of_13f}) AS found
        UNION ALL SELECT * FROM ({of_4}) AS found
        UNION ALL SELECT * FROM ({of_13dg}) AS found
        UNION ALL SELECT * FROM ({of_144}) AS found) AS found
    WHERE :source IS NULL OR source = :source
    ORDER BY filed DESC, number DESC, source
    LIMIT :limit OFFSET :offset
) AS found
LEFT JOIN companies_with_ticker AS issuer ON issuer.cik = found.issuer_cik
ORDER BY found.filed DESC, found.number DESC, found.source

-- name: filings_of_holder_count
SELECT
    (SELECT count(*) FROM insider_form_owners WHERE owner_cik = :cik) AS form_4,
    (SELECT count(DISTINCT accession) FROM holdings_reports WHERE cik = :cik) AS form_13f,
    (SELECT count(DISTINCT filing_id) FROM schedule_persons WHERE holder = :holder) AS form_13dg,
    (SELECT count(*) FROM sale_notices WHERE filer_cik = :cik) AS form_144

-- name: first_filing_of_holder
SELECT min(day) FROM (
    SELECT (SELECT min(filed_day) FROM insider_form_owners WHERE owner_cik = :cik AND filed_day > 0) AS day
    UNION ALL SELECT (SELECT min(filed_day) FROM schedule_persons WHERE holder = :holder AND filed_day > 0)
    UNION ALL SELECT (SELECT min(filed_day) FROM sale_notices WHERE filer_cik = :cik AND filed_day > 0)
    UNION ALL SELECT (SELECT CAST(julianday(min(filed_at)) - 2440587.5 AS INTEGER) FROM holdings_reports
        WHERE cik = :cik AND filed_at <> '')
) AS found

-- name: issuers_of_holder_count
SELECT count(*) FROM (
    SELECT form.issuer_cik FROM insider_form_owners AS owner JOIN insider_forms AS form ON form.id = owner.form_id
    WHERE owner.owner_cik = :cik
    UNION SELECT issuer_cik FROM schedule_persons WHERE holder = :holder
    UNION SELECT issuer_cik FROM sale_notices WHERE filer_cik = :cik
) AS found

-- name: form_4_told
SELECT form_id AS id, max(direction = 1) AS bought, max(direction = -1) AS sold, max(acquired_disposed IS 'A') AS acquired,
    max(acquired_disposed IS 'D') AS disposed
FROM insider_transactions
WHERE form_id IN (SELECT value FROM json_each(:ids))
GROUP BY form_id

-- name: form_13dg_told
SELECT person.id, person.percent, person.percent AS percent_of_class, person.shares, filing.is_amendment, filing.is_exit,
    filing.prior_id IS NOT NULL AS followed, prior.percent AS prior_percent, substr(filing.purpose, 1, 500) AS purpose
FROM json_each(:ids) AS wanted
CROSS JOIN schedule_persons AS person ON person.id = wanted.value
JOIN schedule_filings AS filing ON filing.id = person.filing_id
LEFT JOIN schedule_persons AS prior ON prior.id = person.prior_id

-- name: form_13f_told
SELECT id, period AS period_of_report, row_count AS position_count, form GLOB '*/A' AS is_amendment, report_type,
    coalesce(value_total * total_unit, iif(row_count > 0, row_value * value_unit, NULL)) AS total_aum_usd
FROM holdings_reports
WHERE id IN (SELECT value FROM json_each(:ids))
