-- name: insider_forms_to_pack
-- The SIC code of an issuer is returned once, with its last form.
SELECT form.accession, form.filed_at, form.document, form.source, form.body, filings.accepted_at,
    CASE WHEN form.accession = max(form.accession) OVER (PARTITION BY form.issuer_cik) THEN companies.sic END AS sic
FROM insider_forms AS form
LEFT JOIN filings ON filings.accession = form.accession
LEFT JOIN companies ON companies.cik = form.issuer_cik
ORDER BY form.accession
