-- name: userplan
SELECT *, total_limit_api - reach_limit_api AS current_balance FROM userplans WHERE user_id = :user_id

-- name: due_users
SELECT user_id FROM userplans WHERE current_period_end <= :now ORDER BY current_period_end LIMIT :limit

-- name: upsert_userplan
INSERT INTO userplans (user_id, plan, total_limit_api, bought, current_period_end, anchor, created_at, updated_at)
VALUES (:user_id, :plan, :tokens, :bought, :period_end, :anchor, :now, :now)
ON CONFLICT (user_id) DO UPDATE
SET plan = excluded.plan, total_limit_api = excluded.total_limit_api, reach_limit_api = 0, bought = excluded.bought,
    anchor = excluded.anchor, current_period_end = excluded.current_period_end, updated_at = excluded.updated_at

-- name: add_tokens
UPDATE userplans
SET total_limit_api = total_limit_api + :tokens, bought = bought + :tokens, updated_at = :now
WHERE user_id = :user_id
RETURNING total_limit_api - reach_limit_api

-- name: take_credit
UPDATE users SET credit_cents = credit_cents - :cents, updated_at = :now
WHERE id = :user_id AND credit_cents >= :cents
RETURNING credit_cents

-- name: insert_wallet_row
INSERT INTO wallet (user_id, cents, reason, tokens, created_at) VALUES (:user_id, :cents, :reason, :tokens, :now)

-- name: wallet_rows
-- The amount is negative for a correction that took money back.
SELECT CAST(id AS TEXT) AS id, created_at, reason AS type,
    CASE reason WHEN 'purchase' THEN -cents ELSE cents END / 100.0 AS amount_usd,
    tokens AS tokens_credited,
    CASE WHEN reason = 'purchase' THEN 'Tokens bought from the wallet'
        WHEN cents < 0 THEN 'Taken back as a correction' ELSE 'Added to the wallet' END AS description
FROM wallet
WHERE user_id = :user_id
ORDER BY wallet.id DESC
LIMIT :limit OFFSET :offset
