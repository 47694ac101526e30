-- name: receipt_chain
SELECT users.uuid AS account, (SELECT epoch FROM journal) AS epoch,
    coalesce(receipt_chains.receipts, 0) AS receipts, receipt_chains.last_sha256
FROM users
LEFT JOIN receipt_chains ON receipt_chains.user_id = users.id
WHERE users.id = :user_id

-- name: upsert_receipt_chain
INSERT INTO receipt_chains (user_id, receipts, last_sha256) VALUES (:user_id, :number, :sha256)
ON CONFLICT (user_id) DO UPDATE SET receipts = excluded.receipts, last_sha256 = excluded.last_sha256
