-- name: take_tokens
UPDATE userplans
SET reach_limit_api = reach_limit_api + :cost, updated_at = :now
WHERE user_id = :user_id AND total_limit_api - reach_limit_api >= :cost

-- name: give_back_tokens
-- Beyond what was spent of this period (a plan that changed meanwhile), it is added to what may be.
UPDATE userplans
SET total_limit_api = total_limit_api + max(0, :cost - reach_limit_api),
    reach_limit_api = max(0, reach_limit_api - :cost),
    updated_at = :now
WHERE user_id = :user_id

-- name: userplan
SELECT plan, status, total_limit_api, reach_limit_api, current_period_end
FROM userplans
WHERE user_id = :user_id

-- name: insert_ledger_row
INSERT INTO ledger (user_id, delta, reason, endpoint, request_id, status, open, created_at)
VALUES (:user_id, :delta, :reason, :endpoint, :request_id, :status, :open, :now)

-- name: close_debit
UPDATE ledger SET open = 0, status = :status WHERE id = :id AND open = 1

-- name: open_debits
SELECT id, user_id, -delta AS cost, endpoint, request_id FROM ledger WHERE open = 1

-- name: ledger_sum
SELECT coalesce(sum(delta), 0) FROM ledger WHERE user_id = :user_id

-- name: set_userplan
UPDATE userplans
SET plan = :plan, total_limit_api = :tokens, reach_limit_api = 0, current_period_end = :period_end, updated_at = :now
WHERE user_id = :user_id

-- name: add_tokens
UPDATE userplans SET total_limit_api = total_limit_api + :tokens, updated_at = :now WHERE user_id = :user_id
