-- name: insider_filings_latest
SELECT id, filed_day FROM insider_forms
WHERE (filed_day, id) < (:day, :form) AND (:since IS NULL OR filed_day >= :since)
    AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment)
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_type
SELECT id, filed_day FROM insider_forms
WHERE form = :type AND (filed_day, id) < (:day, :form) AND (:since IS NULL OR filed_day >= :since)
    AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment)
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_sector
SELECT id, filed_day FROM insider_forms
WHERE sector = :sector AND (filed_day, id) < (:day, :form) AND (:since IS NULL OR filed_day >= :since)
    AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:type IS NULL OR form = :type)
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_industry
SELECT id, filed_day FROM insider_forms
WHERE industry = :industry AND (filed_day, id) < (:day, :form) AND (:since IS NULL OR filed_day >= :since)
    AND (:until IS NULL OR filed_day <= :until) AND (:sector IS NULL OR sector = :sector)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:type IS NULL OR form = :type)
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_issuer
SELECT id, filed_day FROM insider_forms
WHERE issuer_cik = :issuer AND (filed_day, id) < (:day, :form) AND (:since IS NULL OR filed_day >= :since)
    AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:type IS NULL OR form = :type)
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
    AND (:insider IS NULL OR EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = insider_forms.filed_day
            AND owner.form_id = insider_forms.id
    ))
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: count_insider_filings
SELECT count(*) FROM insider_forms
WHERE filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)

-- name: count_insider_filings_of_type
SELECT count(*) FROM insider_forms
WHERE form = :type AND filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)

-- name: count_insider_filings_of_issuer
SELECT count(*) FROM insider_forms
WHERE issuer_cik = :issuer AND filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:type IS NULL OR form = :type)
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
    AND (:insider IS NULL OR EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = insider_forms.filed_day
            AND owner.form_id = insider_forms.id
    ))

-- name: insider_forms_by_id
SELECT form.*, filings.accepted_at, filings.primary_document, companies.name AS company_name,
    (
        SELECT ticker FROM tickers WHERE tickers.cik = form.issuer_cik ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
    ) AS ticker
FROM json_each(:ids)
CROSS JOIN insider_forms AS form ON form.id = json_each.value
JOIN companies ON companies.cik = form.issuer_cik
LEFT JOIN filings ON filings.accession = form.accession
ORDER BY json_each.key

-- name: insider_form_of
SELECT id FROM insider_forms WHERE accession = :accession

-- name: superseded_rows
SELECT seq, superseded_by FROM insider_transactions WHERE form_id = :form_id AND superseded_by IS NOT NULL
UNION
SELECT seq, superseded_by FROM insider_positions WHERE form_id = :form_id AND superseded_by IS NOT NULL
