-- name: terms_of_forms
SELECT DISTINCT trade FROM insider_transactions WHERE form_id IN (SELECT value FROM json_each(:forms))

-- name: rows_of_shared_terms
-- Valid rows whose terms another form has too, and rows that were repeats of such a form.
SELECT trade.trade, trade.id, trade.form_id, trade.seq, trade.filed_day, trade.title, trade.shares, trade.price,
    trade.following_shares, trade.ownership, trade.nature, trade.same_trade_as, form.content, form.body
FROM json_each(:terms)
CROSS JOIN insider_transactions AS trade INDEXED BY insider_transactions_by_trade ON trade.trade = json_each.value
CROSS JOIN insider_forms AS form ON form.id = trade.form_id
WHERE trade.superseded_by IS NULL AND trade.date IS NOT NULL AND trade.shares IS NOT NULL
    AND (trade.same_trade_as IS NOT NULL OR EXISTS (
        SELECT 1 FROM insider_transactions AS other INDEXED BY insider_transactions_by_trade
        WHERE other.trade = trade.trade AND other.form_id <> trade.form_id
    ))

-- name: update_same_trade
UPDATE insider_transactions SET same_trade_as = ? WHERE id = ?
