-- name: stored_insider_forms
-- Forms with the same accession number or the same text.
SELECT id, accession, content, source, filed_at FROM insider_forms WHERE accession = :accession
UNION
SELECT id, accession, content, source, filed_at FROM insider_forms WHERE content = :content

-- name: undated_insider_forms
SELECT accession, body, document, source FROM insider_forms INDEXED BY insider_forms_undated WHERE filed_at IS NULL

-- name: delete_insider_form
DELETE FROM insider_forms WHERE id = :id

-- name: insert_insider_form
INSERT INTO insider_forms (id, accession, content, source, body, issuer_cik, sic, symbol, form, base, is_amendment, period,
    original_date, filed_at, filed_day, as_of, is_late, business_days, roles, document, stored_at, owner_count, nonderiv_trans,
    nonderiv_holdings, deriv_trans, deriv_holdings, footnote_count)
VALUES (:id, :accession, :content, :source, :body, :issuer_cik, :sic, :symbol, :form, :base, :is_amendment, :period,
    :original_date, :filed_at, :filed_day, :as_of, :is_late, :business_days, :roles, :document, :stored_at, :owner_count,
    :nonderiv_trans, :nonderiv_holdings, :deriv_trans, :deriv_holdings, :footnote_count)

-- name: insert_insider_form_owner
INSERT INTO insider_form_owners (owner_cik, filed_day, form_id, position, roles, title, other)
VALUES (:owner_cik, :filed_day, :form_id, :position, :roles, :title, :other)

-- name: upsert_insider
-- The name on the insider's newest form is kept.
INSERT INTO insiders (cik, name, is_entity, named_day, named_form)
VALUES (:cik, :name, :is_entity, :day, :form)
ON CONFLICT (cik) DO UPDATE
SET name = excluded.name, is_entity = excluded.is_entity, named_day = excluded.named_day,
    named_form = excluded.named_form
WHERE (excluded.named_day, excluded.named_form) >= (insiders.named_day, insiders.named_form)

-- name: insert_insider_words
INSERT OR IGNORE INTO insider_words (word, kind, cik) VALUES (?, ?, ?)

-- name: company_sic
SELECT sic FROM companies WHERE cik = :cik

-- name: insert_insider_transactions
-- The percentage is that of the shares owned before; null if there were none, or if they are not known.
INSERT INTO insider_transactions (form_id, seq, filed_day, issuer_cik, owner_cik, roles, sic, date, figure_notes, trade,
    derivative, title, code, acquired_disposed, shares, price, following_shares, following_value, nature, ownership,
    standard_type, direction, value, rule_10b5_1, plan_source, is_cashless, is_sell_to_cover, percent_of_holding)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?14, ?15, ?, ?17, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    round(100.0 * ?15 / nullif(max(0, ?17 - ?15 * CASE ?14 WHEN 'A' THEN 1 WHEN 'D' THEN -1 END), 0), 4))

-- name: update_insider_transaction_count
UPDATE held_counts SET number = number + :inserted WHERE name = 'insider_transactions'

-- name: insert_insider_positions
INSERT INTO insider_positions (form_id, seq, under, class, title, derivative, ownership, nature, vehicle, amount,
    amount_notes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: insert_insider_stake
INSERT OR IGNORE INTO insider_stakes (issuer_cik, owner_cik, derivative, class)
VALUES (:issuer_cik, :owner_cik, :derivative, :class)

-- name: insider_stake_id
SELECT id FROM insider_stakes
WHERE issuer_cik = :issuer_cik AND owner_cik = :owner_cik AND derivative = :derivative AND class = :class

-- name: insert_insider_stake_form
INSERT INTO insider_stake_forms (stake_id, as_of, filed_day, form_id)
VALUES (:stake_id, :as_of, :filed_day, :form_id)

-- name: connectable_insider_form
SELECT id, filed_day, is_amendment, body FROM insider_forms WHERE id = :id

-- name: connected_insider_forms
-- Forms of the same issuer and form number with an owner in common, which are of the same period, or of which one is an
-- amendment that states the filing date of the other.
WITH near AS (
    SELECT other.id, other.base
    FROM insider_forms AS form
    JOIN insider_forms AS other ON other.issuer_cik = form.issuer_cik AND other.period = form.period
    WHERE form.id = :id
    UNION
    SELECT other.id, other.base
    FROM insider_forms AS form
    JOIN insider_forms AS other ON other.issuer_cik = form.issuer_cik
        AND other.filed_day = CAST(julianday(form.original_date) - 2440587.5 AS INTEGER)
    WHERE form.id = :id AND form.is_amendment = 1
    UNION
    SELECT other.id, other.base
    FROM insider_forms AS form
    JOIN insider_forms AS other ON other.issuer_cik = form.issuer_cik AND other.is_amendment = 1
        AND other.original_date = form.filed_at
    WHERE form.id = :id
)
SELECT near.id
FROM insider_forms AS form
CROSS JOIN near
WHERE form.id = :id AND near.id <> form.id AND near.base = form.base
    AND EXISTS (
        SELECT 1
        FROM insider_form_owners AS owner
        JOIN insider_form_owners AS near_owner ON near_owner.form_id = near.id AND near_owner.owner_cik = owner.owner_cik
        WHERE owner.form_id = form.id
    )

-- name: reset_superseded_transactions
UPDATE insider_transactions SET superseded_by = NULL WHERE form_id = :form_id AND superseded_by IS NOT NULL

-- name: reset_superseded_positions
UPDATE insider_positions SET superseded_by = NULL, under = form_id WHERE form_id = :form_id

-- name: reset_amended_stakes
UPDATE insider_stake_forms SET amended = 0 WHERE form_id = :form_id AND amended = 1

-- name: update_insider_form_superseded
UPDATE insider_forms SET is_superseded = :superseded WHERE id = :id

-- name: supersede_transactions
UPDATE insider_transactions SET superseded_by = :by, same_trade_as = NULL
WHERE form_id = :form_id AND seq IN (SELECT value FROM json_each(:seqs))

-- name: supersede_positions
UPDATE insider_positions SET superseded_by = :by
WHERE form_id = :form_id AND superseded_by IS NULL
    AND (seq IN (SELECT value FROM json_each(:seqs)) OR vehicle IN (SELECT value FROM json_each(:vehicles)))

-- name: move_positions
-- Positions of a class that the amendment leaves out are listed with it from now on.
UPDATE insider_positions SET under = :by
WHERE under = :form_id AND superseded_by IS NULL
    AND (derivative, class) IN (SELECT derivative, class FROM insider_positions WHERE form_id = :by)

-- name: amend_stakes
UPDATE insider_stake_forms SET amended = 1
WHERE form_id = :form_id AND stake_id IN (SELECT stake_id FROM insider_stake_forms WHERE form_id = :by)
