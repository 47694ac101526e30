-- name: insider_forms_to_pack
SELECT form.accession, form.filed_at, form.document, form.source, form.body, filings.accepted_at
FROM insider_forms AS form
LEFT JOIN filings ON filings.accession = form.accession
ORDER BY form.accession

-- name: issuers_to_pack
SELECT DISTINCT companies.cik, companies.sic
FROM insider_forms
JOIN companies ON companies.cik = insider_forms.issuer_cik
WHERE companies.sic IS NOT NULL
ORDER BY companies.cik
