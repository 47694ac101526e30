-- part: of_forms_by_id
FROM json_each(:ids)
CROSS JOIN insider_forms AS form ON form.id = json_each.value
JOIN companies_with_ticker AS companies ON companies.cik = form.issuer_cik
LEFT JOIN filings ON filings.accession = form.accession
ORDER BY json_each.key

-- part: in_sic_ranges
(:sic_ranges IS NULL OR EXISTS (SELECT 1 FROM json_each(:sic_ranges)
    WHERE form.sic BETWEEN json_each.value ->> 0 AND json_each.value ->> 1))

-- name: insider_filings_of_all
SELECT id, 0 AS value, filed_day, id AS form_id, 0 AS seq FROM insider_forms AS form
WHERE (filed_day, id) < (:day, :form) AND filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND {in_sic_ranges}
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_type
SELECT id, 0 AS value, filed_day, id AS form_id, 0 AS seq FROM insider_forms AS form
WHERE form = :type AND (filed_day, id) < (:day, :form) AND filed_day >= coalesce(:since, 0)
    AND (:until IS NULL OR filed_day <= :until) AND (:amendment IS NULL OR is_amendment = :amendment)
    AND {in_sic_ranges}
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_sector
SELECT id, 0 AS value, filed_day, id AS form_id, 0 AS seq FROM insider_forms
WHERE sector = :sector AND (filed_day, id) < (:day, :form) AND filed_day >= coalesce(:since, 0)
    AND (:until IS NULL OR filed_day <= :until) AND (:type IS NULL OR form = :type)
    AND (:amendment IS NULL OR is_amendment = :amendment)
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_industry
SELECT id, 0 AS value, filed_day, id AS form_id, 0 AS seq FROM insider_forms AS form
WHERE industry = :industry AND (filed_day, id) < (:day, :form) AND filed_day >= coalesce(:since, 0)
    AND (:until IS NULL OR filed_day <= :until) AND (:type IS NULL OR form = :type)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:sector IS NULL OR sector = :sector)
    AND {in_sic_ranges}
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_issuer
SELECT id, 0 AS value, filed_day, id AS form_id, 0 AS seq FROM insider_forms AS form
WHERE issuer_cik = :issuer AND (filed_day, id) < (:day, :form) AND filed_day >= coalesce(:since, 0)
    AND (:until IS NULL OR filed_day <= :until) AND (:type IS NULL OR form = :type)
    AND (:amendment IS NULL OR is_amendment = :amendment)
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
    AND {in_sic_ranges}
ORDER BY filed_day DESC, id DESC
LIMIT :limit OFFSET :offset

-- name: insider_filings_of_insider
SELECT form.id, 0 AS value, form.filed_day, form.id AS form_id, 0 AS seq
FROM insider_form_owners AS owner
CROSS JOIN insider_forms AS form ON form.id = owner.form_id
WHERE owner.owner_cik = :insider AND (owner.filed_day, owner.form_id) < (:day, :form)
    AND owner.filed_day >= coalesce(:since, 0) AND (:until IS NULL OR owner.filed_day <= :until)
    AND (:issuer IS NULL OR form.issuer_cik = :issuer) AND (:type IS NULL OR form.form = :type)
    AND (:amendment IS NULL OR form.is_amendment = :amendment)
ORDER BY owner.filed_day DESC, owner.form_id DESC
LIMIT :limit OFFSET :offset

-- name: count_insider_filings_of_all
SELECT count(*) FROM insider_forms
WHERE filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)

-- name: count_insider_filings_of_type
SELECT count(*) FROM insider_forms
WHERE form = :type AND filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)

-- name: count_insider_filings_of_issuer
SELECT count(*) FROM insider_forms AS form
WHERE issuer_cik = :issuer AND filed_day >= coalesce(:since, 0) AND (:until IS NULL OR filed_day <= :until)
    AND (:amendment IS NULL OR is_amendment = :amendment) AND (:type IS NULL OR form = :type)
    AND (:sector IS NULL OR sector = :sector) AND (:industry IS NULL OR industry = :industry)
    AND {in_sic_ranges}
    AND (:insider IS NULL OR EXISTS (
        SELECT 1 FROM insider_form_owners AS owner
        WHERE owner.owner_cik = :insider AND owner.filed_day = form.filed_day AND owner.form_id = form.id
    ))

-- name: insider_filings_by_id
SELECT form.id AS form_id, form.issuer_cik, coalesce(form.document, filings.primary_document) AS document, form.sic,
    form.accession, form.accession AS filing_id, form.accession AS accession_number, form.form AS form_type,
    form.filed_at, filings.accepted_at, form.period AS period_of_report, form.is_amendment, form.is_superseded,
    form.is_late, form.business_days AS business_days_to_file, form.owner_count,
    form.nonderiv_trans AS non_derivative_transaction_count, form.deriv_trans AS derivative_transaction_count,
    form.nonderiv_holdings AS non_derivative_holding_count, form.deriv_holdings AS derivative_holding_count,
    form.footnote_count, companies.name AS company_name, companies.ticker
{of_forms_by_id}

-- name: insider_forms_by_id
SELECT form.id AS form_id, form.issuer_cik, coalesce(form.document, filings.primary_document) AS document, form.body,
    form.accession, form.accession AS id, form.accession AS accessionNo, form.form AS documentType,
    form.filed_at AS filedAt, filings.accepted_at AS acceptedAt, form.period AS periodOfReport,
    form.is_amendment AS isAmendment, form.is_superseded AS isSuperseded, form.is_late AS isLate,
    form.business_days AS businessDaysToFile, form.stored_at, form.source, companies.ticker
{of_forms_by_id}

-- name: insider_form_id
SELECT id FROM insider_forms WHERE accession = :accession

-- name: superseded_rows
SELECT seq FROM insider_transactions WHERE form_id = :form_id AND superseded_by IS NOT NULL
UNION
-- The position after a transaction may be restated although the transaction is not.
SELECT seq FROM insider_positions AS position_row
WHERE form_id = :form_id AND superseded_by IS NOT NULL
    AND NOT EXISTS (
        SELECT 1 FROM insider_transactions AS trade
        WHERE trade.form_id = position_row.form_id AND trade.seq = position_row.seq
    )
