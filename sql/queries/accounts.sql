-- name: insert_user
INSERT INTO users (uuid, email, usertype, created_at, updated_at)
VALUES (:uuid, :email, :usertype, :now, :now)

-- name: insert_api_key
INSERT INTO api_keys (user_id, uuid, fingerprint, created_at)
VALUES (:user_id, :uuid, :fingerprint, :now)

-- name: insert_userplan
INSERT INTO userplans (user_id, plan, total_limit_api, current_period_end, created_at, updated_at)
VALUES (:user_id, :plan, :tokens, :period_end, :now, :now)

-- name: caller_by_fingerprint
SELECT users.id, users.uuid, users.email, userplans.plan
FROM api_keys
JOIN users ON users.id = api_keys.user_id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE api_keys.fingerprint = :fingerprint
