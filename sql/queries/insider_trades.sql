-- name: trades_latest
SELECT id, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND (filed_day, form_id, seq) < (:day, :form, :seq)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_of_type
SELECT id, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND standard_type = :type AND (filed_day, form_id, seq) < (:day, :form, :seq)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_of_sector
SELECT id, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND sector = :sector AND (filed_day, form_id, seq) < (:day, :form, :seq)
    AND (:type IS NULL OR standard_type = :type)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_of_industry
SELECT id, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND industry = :industry AND (filed_day, form_id, seq) < (:day, :form, :seq)
    AND (:type IS NULL OR standard_type = :type) AND (:sector IS NULL OR sector = :sector)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_of_issuer
SELECT id, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND issuer_cik = :issuer AND (filed_day, form_id, seq) < (:day, :form, :seq)
    AND filed_day >= :since AND (:date_from IS NULL OR date >= :date_from)
    AND (:type IS NULL OR standard_type = :type)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_of_insider
SELECT trade.id, trade.filed_day, trade.form_id, trade.seq
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND (owner.filed_day, owner.form_id) <= (:day, :form)
    AND trade.superseded_by IS NULL AND (trade.filed_day, trade.form_id, trade.seq) < (:day, :form, :seq)
    AND (:date_from IS NULL OR trade.date >= :date_from) AND (:date_to IS NULL OR trade.date <= :date_to)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = trade.id))
ORDER BY owner.filed_day DESC, owner.form_id DESC, trade.seq DESC
LIMIT :limit

-- name: trades_found
SELECT DISTINCT trade.id, trade.filed_day, trade.form_id, trade.seq
FROM (
    SELECT owner.form_id
    FROM json_each(:insiders)
    CROSS JOIN insider_form_owners AS owner ON owner.owner_cik = json_each.value AND owner.filed_day >= :since
    UNION
    SELECT form.id
    FROM json_each(:issuers)
    CROSS JOIN insider_forms AS form ON form.issuer_cik = json_each.value AND form.filed_day >= :since
) AS found
CROSS JOIN insider_transactions AS trade ON trade.form_id = found.form_id
WHERE trade.superseded_by IS NULL AND (trade.filed_day, trade.form_id, trade.seq) < (:day, :form, :seq)
    AND (:date_from IS NULL OR trade.date >= :date_from)
    AND (:code IS NULL OR trade.code = :code) AND (:type IS NULL OR trade.standard_type = :type)
    AND (:min_value IS NULL OR trade.value >= :min_value) AND (:max_value IS NULL OR trade.value <= :max_value)
    AND trade.roles & :with_roles = :with_roles AND trade.roles & :without_roles = 0
    AND (:sector IS NULL OR trade.sector = :sector) AND (:industry IS NULL OR trade.industry = :industry)
    AND NOT (:no_plan AND trade.rule_10b5_1) AND NOT (:no_cashless AND trade.is_cashless)
    AND NOT (:no_cover AND trade.is_sell_to_cover)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = trade.id))
ORDER BY trade.filed_day DESC, trade.form_id DESC, trade.seq DESC
LIMIT :limit

-- name: trades_top
SELECT id, value, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND value IS NOT NULL
    AND (value, filed_day, form_id, seq) < (:value, :day, :form, :seq)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY value DESC, filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_top_of_sector
SELECT id, value, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND sector = :sector
    AND value IS NOT NULL AND (value, filed_day, form_id, seq) < (:value, :day, :form, :seq)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY value DESC, filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: trades_top_of_industry
SELECT id, value, filed_day, form_id, seq
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND industry = :industry
    AND (:sector IS NULL OR sector = :sector)
    AND value IS NOT NULL AND (value, filed_day, form_id, seq) < (:value, :day, :form, :seq)
    AND (NOT :dedup OR NOT EXISTS (SELECT 1 FROM insider_repeats WHERE insider_repeats.id = insider_transactions.id))
ORDER BY value DESC, filed_day DESC, form_id DESC, seq DESC
LIMIT :limit

-- name: count_trades
SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND filed_day >= 0

-- name: count_trades_of_type
SELECT count(*) FROM insider_transactions WHERE superseded_by IS NULL AND standard_type = :type

-- name: count_trades_of_sector
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND sector = :sector AND (:type IS NULL OR standard_type = :type)

-- name: count_trades_of_industry
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND industry = :industry AND (:type IS NULL OR standard_type = :type)
    AND (:sector IS NULL OR sector = :sector)

-- name: count_trades_of_issuer
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND issuer_cik = :issuer AND filed_day >= :since
    AND (:date_from IS NULL OR date >= :date_from) AND (:type IS NULL OR standard_type = :type)

-- name: count_trades_of_insider
SELECT count(*)
FROM insider_form_owners AS owner
CROSS JOIN insider_transactions AS trade ON trade.form_id = owner.form_id
WHERE owner.owner_cik = :insider AND trade.superseded_by IS NULL
    AND (:date_from IS NULL OR trade.date >= :date_from) AND (:date_to IS NULL OR trade.date <= :date_to)

-- name: count_trades_top
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND value IS NOT NULL

-- name: count_trades_top_of_sector
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND sector = :sector
    AND value IS NOT NULL

-- name: count_trades_top_of_industry
SELECT count(*)
FROM insider_transactions
WHERE superseded_by IS NULL AND direction <> 0 AND direction = :direction AND industry = :industry
    AND (:sector IS NULL OR sector = :sector) AND value IS NOT NULL

-- name: trades_by_id
SELECT trade.*, form.accession, form.form, form.filed_at, form.period, form.is_late, form.business_days,
    form.is_amendment, form.symbol, form.nonderiv_holdings, form.deriv_holdings, form.footnote_count,
    filings.accepted_at, companies.name AS company_name,
    (
        SELECT ticker FROM tickers WHERE tickers.cik = trade.issuer_cik ORDER BY source DESC, last_seen DESC, position, ticker LIMIT 1
    ) AS ticker
FROM json_each(:ids)
CROSS JOIN insider_transactions AS trade ON trade.id = json_each.value
JOIN insider_forms AS form ON form.id = trade.form_id
JOIN companies ON companies.cik = trade.issuer_cik
LEFT JOIN filings ON filings.accession = form.accession
ORDER BY json_each.key

-- name: owners_of_forms
SELECT owner.form_id, owner.position, owner.owner_cik, owner.roles, owner.title, owner.other, insiders.name,
    insiders.is_entity
FROM json_each(:forms)
CROSS JOIN insider_form_owners AS owner ON owner.form_id = json_each.value
JOIN insiders ON insiders.cik = owner.owner_cik
ORDER BY owner.form_id, owner.position

-- name: amounts_under_forms
SELECT held.under, held.class, held.amount
FROM json_each(:forms)
CROSS JOIN insider_positions AS held ON held.under = json_each.value AND held.derivative = 0
WHERE held.superseded_by IS NULL

-- name: transactions_of_form
SELECT id FROM insider_transactions WHERE form_id = :form_id ORDER BY seq
