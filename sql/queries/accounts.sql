-- name: insert_user
INSERT INTO users (uuid, email, usertype, password, verify_email, created_at, updated_at)
VALUES (:uuid, :email, 'user', :password, :verify_email, :now, :now)

-- name: insert_api_key
INSERT INTO api_keys (user_id, uuid, fingerprint, created_at)
VALUES (:user_id, :uuid, :fingerprint, :now)

-- name: replace_api_key
UPDATE api_keys SET uuid = :uuid, fingerprint = :fingerprint, created_at = :now WHERE user_id = :user_id

-- name: caller_by_fingerprint
SELECT users.id, users.uuid, users.email, userplans.plan, userplans.current_period_end,
    (SELECT stamp FROM data_version) AS data_stamp
FROM api_keys
JOIN users ON users.id = api_keys.user_id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE api_keys.fingerprint = :fingerprint AND users.locked_at IS NULL

-- name: caller_by_session
SELECT users.id, users.uuid, users.email, userplans.plan, userplans.current_period_end
FROM sessions
JOIN users ON users.id = sessions.user_id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE sessions.fingerprint = :fingerprint AND users.uuid = :uuid AND sessions.expires_at > :now
    AND users.locked_at IS NULL

-- name: user_by_email
SELECT id, uuid, email, password, password_serial, verify_email, locked_at FROM users WHERE email = :email

-- name: user_by_id
SELECT id, uuid, email, password, password_serial, verify_email, locked_at FROM users WHERE id = :id

-- name: user_profile
SELECT users.*, api_keys.uuid AS key_uuid, api_keys.fingerprint,
    EXISTS (SELECT 1 FROM sessions WHERE sessions.user_id = users.id AND sessions.expires_at > :now) AS is_online,
    userplans.id AS plan_id, userplans.plan, userplans.status, userplans.total_limit_api, userplans.reach_limit_api,
    userplans.current_period_end, userplans.created_at AS plan_created_at, userplans.updated_at AS plan_updated_at
FROM users
LEFT JOIN api_keys ON api_keys.user_id = users.id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE users.id = :id

-- name: update_user
UPDATE users
SET webhook_url = CASE WHEN :set_webhook_url THEN :webhook_url ELSE webhook_url END,
    notify_email = coalesce(:notify_email, notify_email),
    notify_browser = coalesce(:notify_browser, notify_browser),
    webhook_topics = coalesce(:webhook_topics, webhook_topics),
    updated_at = :now
WHERE id = :id

-- name: set_password
UPDATE users SET password = :password, password_serial = password_serial + 1, updated_at = :now WHERE id = :id

-- name: set_password_again
UPDATE users SET password = :password WHERE id = :id AND password = :old

-- name: set_verified
UPDATE users SET verify_email = 1, updated_at = :now WHERE id = :id AND verify_email = 0

-- name: set_locked
UPDATE users SET locked_at = :locked_at, updated_at = :now WHERE email = :email

-- name: add_credit
UPDATE users SET credit_cents = credit_cents + :cents, updated_at = :now WHERE email = :email
RETURNING credit_cents

-- name: any_user_or_invite
SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM invites)
