-- name: any_insider_transaction
SELECT id FROM insider_transactions WHERE id > 0 LIMIT 1
