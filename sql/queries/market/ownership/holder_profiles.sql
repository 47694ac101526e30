-- part: holder_with_name
-- The name under which a holder files: as a fund, as an insider, or on its newest schedule.
SELECT holder.*, coalesce(
    (SELECT name FROM funds WHERE funds.cik = holder.cik AND filing_count > 0),
    (SELECT name FROM insiders WHERE insiders.cik = holder.cik),
    (SELECT name FROM schedule_persons WHERE schedule_persons.holder = holder.id ORDER BY filed_day DESC, filing_id DESC LIMIT 1)
) AS name

-- part: is_kind
CASE :kind WHEN 'insider' THEN form_4 WHEN 'institutional' THEN form_13f WHEN 'beneficial_owner' THEN form_13dg ELSE 1 END > 0

-- name: holders_of_kind
{holder_with_name}
FROM (SELECT * FROM holders WHERE filings > 0 AND {is_kind} ORDER BY filings DESC, id LIMIT :limit OFFSET :offset) AS holder

-- name: count_holders_of_kind
SELECT count(*) FROM holders INDEXED BY holders_by_filings WHERE filings > 0 AND {is_kind}

-- name: holders_by_ids
{holder_with_name}, count(*) OVER () AS total
FROM (
    SELECT holders.* FROM json_each(:ids) AS requested CROSS JOIN holders ON holders.id = requested.value WHERE {is_kind}
) AS holder
ORDER BY filings DESC, id
LIMIT :limit OFFSET :offset

-- name: holders_with_word
-- Holders with a word that begins so in their name; at most :limit from each table of names.
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik) AS holder
FROM (
    SELECT DISTINCT cik FROM insider_words WHERE word >= :word AND word < :word || char(1114111) AND kind = 0 LIMIT :limit
) AS matching
UNION
SELECT printf('f1a9c1c0-0000-8000-8000-%012d', cik)
FROM (
    SELECT DISTINCT cik FROM fund_words WHERE word >= upper(:word) AND word < upper(:word) || char(1114111) LIMIT :limit
) AS matching
UNION
SELECT holder FROM (
    SELECT DISTINCT holder FROM schedule_words WHERE word >= :word AND word < :word || char(1114111) LIMIT :limit
) AS matching

-- name: names_of_holder
-- All names of a holder; of its schedules, only the newest are read.
SELECT name FROM funds WHERE cik = :cik AND filing_count > 0
UNION SELECT name FROM holdings_reports WHERE cik = :cik
UNION SELECT name FROM insiders WHERE cik = :cik
UNION SELECT name FROM companies WHERE cik = :cik AND name_rank > -2
UNION SELECT name FROM former_names WHERE cik = :cik
UNION SELECT name FROM (
    SELECT name FROM schedule_persons WHERE holder = :holder ORDER BY filed_day DESC, filing_id DESC LIMIT 500
) AS matching
ORDER BY 1
LIMIT 100

-- part: reports_13f
-- Several sets of documents may be stored under one accession number.
SELECT 'form_13f' AS source, form AS form_type, accession, CAST(replace(accession, '-', '') AS INTEGER) AS number,
    filed_at AS filed, NULL AS issuer_cik, NULL AS issuer_name, NULL AS seller_name, max(id) AS id
FROM holdings_reports WHERE cik = :cik GROUP BY accession

-- part: schedules_13dg
SELECT 'form_13dg', filing.form, filing.accession, filing.id, coalesce(filing.filed_at, ''), filing.issuer_cik,
    filing.issuer_name, NULL, person.id
FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.holder = :holder AND (:schedule IS NULL OR filing.kind = :schedule) AND NOT EXISTS (
    SELECT 1 FROM schedule_persons AS same
    WHERE same.filing_id = person.filing_id AND same.holder = person.holder AND same.seq < person.seq
)
ORDER BY person.filed_day DESC, person.filing_id DESC LIMIT :last

-- part: forms_4
SELECT 'form_4', form.form, form.accession, form.id, coalesce(form.filed_at, ''), form.issuer_cik, NULL, NULL, form.id
FROM insider_form_owners AS owner
JOIN insider_forms AS form ON form.id = owner.form_id
WHERE owner.owner_cik = :cik
ORDER BY owner.filed_day DESC, owner.form_id DESC LIMIT :last

-- part: notices_144
SELECT 'form_144', form, accession, id, coalesce(filed_at, ''), issuer_cik, issuer_name, seller, id
FROM sale_notices WHERE filer_cik = :cik
ORDER BY filed_day DESC, id DESC LIMIT :last

-- name: filings_of_holder
-- The first :last filings of all families are among the first :last of each family. Some columns have two names, because
-- two kinds of records are built from them.
SELECT filing.*, form_type AS formType, accession AS accession_number, accession AS accessionNumber, filed_at AS filedAt,
    iif(issuer_cik IS NULL, NULL, printf('%010d', issuer_cik)) AS issuerCik, issuer.ticker AS issuer_ticker,
    issuer.ticker AS issuerTicker, coalesce(issuer.name, issuer_name) AS issuerName
FROM (
    SELECT filing.*, coalesce(
        (SELECT accepted_at FROM filings WHERE filings.accession = filing.accession),
        nullif(filed, '') || 'T00:00:00.000Z'
    ) AS filed_at
    FROM (SELECT * FROM ({reports_13f}) AS filing
        UNION ALL SELECT * FROM ({forms_4}) AS filing
        UNION ALL SELECT * FROM ({schedules_13dg}) AS filing
        UNION ALL SELECT * FROM ({notices_144}) AS filing) AS filing
    WHERE :source IS NULL OR source = :source
    ORDER BY filed DESC, number DESC, source
    LIMIT :limit OFFSET :offset
) AS filing
LEFT JOIN companies_with_ticker AS issuer ON issuer.cik = filing.issuer_cik
ORDER BY filing.filed DESC, filing.number DESC, filing.source

-- name: filing_counts_of_holder
SELECT
    (SELECT count(*) FROM insider_form_owners WHERE owner_cik = :cik) AS form_4,
    (SELECT count(DISTINCT accession) FROM holdings_reports WHERE cik = :cik) AS form_13f,
    (SELECT count(DISTINCT filing_id) FROM schedule_persons WHERE holder = :holder) AS form_13dg,
    (SELECT count(*) FROM sale_notices WHERE filer_cik = :cik) AS form_144

-- name: count_schedules_of_holder
SELECT count(DISTINCT person.filing_id) FROM schedule_persons AS person
JOIN schedule_filings AS filing ON filing.id = person.filing_id
WHERE person.holder = :holder AND filing.kind = :schedule

-- name: first_filing_day_of_holder
SELECT min(day) FROM (
    SELECT (SELECT min(filed_day) FROM insider_form_owners WHERE owner_cik = :cik AND filed_day > 0) AS day
    UNION ALL SELECT (SELECT min(filed_day) FROM schedule_persons WHERE holder = :holder AND filed_day > 0)
    UNION ALL SELECT (SELECT min(filed_day) FROM sale_notices WHERE filer_cik = :cik AND filed_day > 0)
    UNION ALL SELECT (SELECT CAST(julianday(min(filed_at)) - 2440587.5 AS INTEGER) FROM holdings_reports
        WHERE cik = :cik AND filed_at <> '')
) AS matching

-- name: count_issuers_of_holder
SELECT count(*) FROM (
    SELECT form.issuer_cik FROM insider_form_owners AS owner JOIN insider_forms AS form ON form.id = owner.form_id
    WHERE owner.owner_cik = :cik
    UNION SELECT issuer_cik FROM schedule_persons WHERE holder = :holder
    UNION SELECT issuer_cik FROM sale_notices WHERE filer_cik = :cik
) AS matching
