-- name: ciks_by_word
-- CIKs of names with a word that begins with word, among the CIKs in known.
SELECT DISTINCT cik
FROM insider_words
WHERE word >= :word AND word < :after AND kind = :kind
    AND (:known IS NULL OR cik IN (SELECT value FROM json_each(:known)))
LIMIT :limit

-- name: insider_name
SELECT name FROM insiders WHERE cik = :cik

-- name: insider_with_company_count
SELECT printf('%010d', insiders.cik) AS cik, insiders.name, insiders.is_entity, (
    SELECT count(DISTINCT form.issuer_cik)
    FROM insider_form_owners AS owner
    JOIN insider_forms AS form ON form.id = owner.form_id
    WHERE owner.owner_cik = insiders.cik
) AS total_companies
FROM insiders
WHERE insiders.cik = :cik

-- name: insiders_by_activity
SELECT printf('%010d', insiders.cik) AS cik, insiders.name, insiders.is_entity, count(*) OVER () AS total, (
    SELECT max(filed_day) FROM insider_form_owners AS owner WHERE owner.owner_cik = insiders.cik
) AS last_day
FROM json_each(:ciks)
CROSS JOIN insiders ON insiders.cik = json_each.value
WHERE last_day IS NOT NULL
ORDER BY last_day DESC, insiders.cik
LIMIT :limit OFFSET :offset

-- name: issuers_of_insider
-- The companies of an insider's forms, the latest first.
SELECT companies.cik, companies.name, companies.ticker, max(owner.filed_day) AS last_day, max(form.id) AS last_form
FROM insider_form_owners AS owner
JOIN insider_forms AS form ON form.id = owner.form_id
JOIN companies_with_ticker AS companies ON companies.cik = form.issuer_cik
WHERE owner.owner_cik = :insider
GROUP BY companies.cik
ORDER BY last_day DESC, last_form DESC
LIMIT 50
