-- name: query_of_accession
SELECT form.id, form.filed_day
FROM insider_forms AS form
WHERE form.accession = :accession AND (:issuer IS NULL OR form.issuer_cik = :issuer)
    AND (:insider IS NULL OR EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = form.filed_day AND owner.form_id = form.id
    ))
    AND (:type IS NULL OR form.form = :type) AND (:amendment IS NULL OR form.is_amendment = :amendment)
    AND (:filed_from IS NULL OR form.filed_day >= :filed_from)
    AND (:filed_to IS NULL OR form.filed_day <= :filed_to)
    AND (:period_from IS NULL OR form.period >= :period_from)
    AND (:period_to IS NULL OR form.period <= :period_to)
    AND (:code IS NULL OR EXISTS (
        SELECT 1 FROM insider_transactions AS trade WHERE trade.form_id = form.id AND trade.code = :code
    ))
ORDER BY form.filed_day DESC, form.id DESC
LIMIT :limit

-- name: query_of_insider
SELECT form.id, form.filed_day
FROM insider_form_owners AS owner
CROSS JOIN insider_forms AS form ON form.id = owner.form_id
WHERE owner.owner_cik = :insider AND (:accession IS NULL OR form.accession = :accession)
    AND (:issuer IS NULL OR form.issuer_cik = :issuer)
    AND (:type IS NULL OR form.form = :type) AND (:amendment IS NULL OR form.is_amendment = :amendment)
    AND (:filed_from IS NULL OR form.filed_day >= :filed_from)
    AND (:filed_to IS NULL OR form.filed_day <= :filed_to)
    AND (:period_from IS NULL OR form.period >= :period_from)
    AND (:period_to IS NULL OR form.period <= :period_to)
    AND (:code IS NULL OR EXISTS (
        SELECT 1 FROM insider_transactions AS trade WHERE trade.form_id = form.id AND trade.code = :code
    ))
ORDER BY owner.filed_day DESC, owner.form_id DESC
LIMIT :limit

-- name: query_of_issuer
SELECT form.id, form.filed_day
FROM insider_forms AS form
WHERE form.issuer_cik = :issuer AND (:accession IS NULL OR form.accession = :accession)
    AND (:insider IS NULL OR EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = form.filed_day AND owner.form_id = form.id
    ))
    AND (:type IS NULL OR form.form = :type) AND (:amendment IS NULL OR form.is_amendment = :amendment)
    AND (:filed_from IS NULL OR form.filed_day >= :filed_from)
    AND (:filed_to IS NULL OR form.filed_day <= :filed_to)
    AND (:period_from IS NULL OR form.period >= :period_from)
    AND (:period_to IS NULL OR form.period <= :period_to)
    AND (:code IS NULL OR EXISTS (
        SELECT 1 FROM insider_transactions AS trade WHERE trade.form_id = form.id AND trade.code = :code
    ))
ORDER BY form.filed_day DESC, form.id DESC
LIMIT :limit

-- name: query_of_all
SELECT form.id, form.filed_day
FROM insider_forms AS form
WHERE form.filed_day >= coalesce(:filed_from, 0) AND (:accession IS NULL OR form.accession = :accession)
    AND (:issuer IS NULL OR form.issuer_cik = :issuer)
    AND (:insider IS NULL OR EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = form.filed_day AND owner.form_id = form.id
    ))
    AND (:type IS NULL OR form.form = :type) AND (:amendment IS NULL OR form.is_amendment = :amendment)
    AND (:filed_from IS NULL OR form.filed_day >= :filed_from)
    AND (:filed_to IS NULL OR form.filed_day <= :filed_to)
    AND (:period_from IS NULL OR form.period >= :period_from)
    AND (:period_to IS NULL OR form.period <= :period_to)
    AND (:code IS NULL OR EXISTS (
        SELECT 1 FROM insider_transactions AS trade WHERE trade.form_id = form.id AND trade.code = :code
    ))
ORDER BY form.filed_day DESC, form.id DESC
LIMIT :limit
