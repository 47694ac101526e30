-- name: take_tokens
UPDATE userplans
SET reach_limit_api = reach_limit_api + :cost, updated_at = :now
WHERE user_id = :user_id AND total_limit_api - reach_limit_api >= :cost

-- name: give_back_tokens
-- Beyond what was spent of this period (it began after the debit) tokens are added as bought ones are.
UPDATE userplans
SET total_limit_api = total_limit_api + max(0, :cost - reach_limit_api),
    bought = bought + max(0, :cost - reach_limit_api),
    reach_limit_api = max(0, reach_limit_api - :cost),
    updated_at = :now
WHERE user_id = :user_id

-- name: insert_ledger_row
INSERT INTO ledger (user_id, delta, reason, endpoint, request_id, status, open, created_at)
VALUES (:user_id, :delta, :reason, :endpoint, :request_id, :status, :open, :now)

-- name: close_debit
UPDATE ledger SET open = 0, status = :status WHERE id = :id AND open = 1

-- name: keep_debits
UPDATE ledger SET open = 0, status = 200 WHERE id IN (SELECT value FROM json_each(:ids)) AND open = 1

-- name: open_debits
SELECT id, user_id, -delta AS cost, endpoint, request_id FROM ledger WHERE open = 1

-- name: debits_open_since
SELECT id, -delta AS cost, endpoint FROM ledger WHERE open = 1 AND created_at < :before

-- name: ledger_rows
SELECT id, created_at, delta, reason, endpoint, request_id, status
FROM ledger
WHERE user_id = :user_id AND (:before IS NULL OR id < :before)
ORDER BY id DESC
LIMIT :limit

-- name: ledger_mark
-- The last row before a time: rows are numbered as they are written, so that the window is walked once.
SELECT id FROM ledger WHERE user_id = :user_id AND created_at < :since ORDER BY id DESC LIMIT 1

-- name: spent_by_day
SELECT substr(created_at, 1, 10) AS day, -sum(delta) AS tokens, sum(reason = 'debit') AS calls
FROM ledger
WHERE user_id = :user_id AND id > :mark AND reason IN ('debit', '4xx_refund', '5xx_refund', 'crash_refund')
GROUP BY day
ORDER BY day

-- name: spent_by_endpoint
SELECT endpoint, -sum(delta) AS tokens, sum(reason = 'debit') AS calls
FROM ledger
WHERE user_id = :user_id AND id > :mark AND reason IN ('debit', '4xx_refund', '5xx_refund', 'crash_refund')
GROUP BY endpoint
ORDER BY tokens DESC, calls DESC, endpoint
LIMIT 10

-- name: unequal_balances
SELECT users.email, userplans.total_limit_api - userplans.reach_limit_api AS balance,
    (SELECT coalesce(sum(delta), 0) FROM ledger WHERE ledger.user_id = users.id) AS ledger
FROM userplans
JOIN users ON users.id = userplans.user_id
WHERE balance <> ledger
ORDER BY users.id

-- name: unequal_wallets
SELECT users.email, users.credit_cents, coalesce(sum(wallet.cents), 0) AS rows
FROM users
LEFT JOIN wallet ON wallet.user_id = users.id
GROUP BY users.id
HAVING users.credit_cents <> rows
ORDER BY users.id
