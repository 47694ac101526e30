-- name: insert_userplan
INSERT INTO userplans (user_id, plan, total_limit_api, current_period_end, anchor, created_at, updated_at)
VALUES (:user_id, :plan, :tokens, :period_end, :now, :now, :now)

-- name: userplan
SELECT user_id, plan, status, total_limit_api, reach_limit_api, bought, anchor, current_period_end
FROM userplans
WHERE user_id = :user_id

-- name: due_userplan
SELECT user_id, plan, status, total_limit_api, reach_limit_api, bought, anchor, current_period_end
FROM userplans
WHERE user_id = :user_id AND current_period_end <= :now

-- name: due_users
SELECT user_id FROM userplans WHERE current_period_end <= :now ORDER BY current_period_end LIMIT :limit

-- name: set_userplan
UPDATE userplans
SET plan = :plan, total_limit_api = :tokens, reach_limit_api = 0, bought = :bought, anchor = :anchor,
    current_period_end = :period_end, updated_at = :now
WHERE user_id = :user_id

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
SELECT id, cents, reason, tokens, created_at FROM wallet
WHERE user_id = :user_id
ORDER BY id DESC
LIMIT :limit OFFSET :offset
