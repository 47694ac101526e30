-- name: insert_user
INSERT INTO users (uuid, email, usertype, password, verify_email, created_at, updated_at)
VALUES (:uuid, :email, 'user', :password, :verify_email, :now, :now)

-- name: insert_api_key
INSERT INTO api_keys (user_id, uuid, fingerprint, made_with, created_at)
VALUES (:user_id, :uuid, :fingerprint, :made_with, :now)

-- name: replace_api_key
UPDATE api_keys
SET uuid = :uuid, fingerprint = :fingerprint, made_with = :made_with, refused = 0, created_at = :now
WHERE user_id = :user_id

-- name: users_after
SELECT id FROM users WHERE id > :id AND deleted_at IS NULL ORDER BY id LIMIT :limit

-- name: user_rows
SELECT users.email, users.uuid, userplans.plan, userplans.total_limit_api - userplans.reach_limit_api AS balance,
    CASE WHEN users.deleted_at IS NOT NULL THEN 'deleted' WHEN users.locked_at IS NOT NULL THEN 'locked'
        WHEN users.verify_email = 1 THEN 'active' ELSE 'unverified' END AS state,
    users.created_at, users.credit_cents / 100.0 AS credit_balance, users.usertype
FROM users
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE :text = '' OR instr(users.email, :text) > 0 OR users.uuid = :text
ORDER BY CASE WHEN :limit < 0 THEN users.id ELSE -users.id END
LIMIT :limit

-- name: email_by_uuid
SELECT email FROM users WHERE uuid = :uuid AND deleted_at IS NULL

-- name: make_admin
UPDATE users SET usertype = 'admin' WHERE id = :id

-- name: erase_user
UPDATE users
SET email = 'deleted-' || uuid || '@deleted.invalid', password = NULL, password_serial = password_serial + 1,
    webhook_url = NULL, webhook_topics = '[]', locked_at = :now, deleted_at = :now, updated_at = :now
WHERE id = :id

-- name: delete_api_key
DELETE FROM api_keys WHERE user_id = :user_id

-- name: delete_verifications
DELETE FROM verifications WHERE user_id = :user_id

-- name: delete_resets_of_user
DELETE FROM resets WHERE user_id = :user_id

-- name: delete_kept_answers
DELETE FROM kept_answers WHERE user_id = :user_id

-- name: delete_login_addresses
DELETE FROM login_addresses WHERE user_id = :user_id

-- name: delete_receipt_chain
DELETE FROM receipt_chains WHERE user_id = :user_id

-- name: delete_webhook_secrets
DELETE FROM webhook_secrets WHERE user_id = :user_id

-- name: delete_failing_receivers
DELETE FROM failing_receivers WHERE user_id = :user_id

-- name: delete_deliveries
DELETE FROM deliveries WHERE user_id = :user_id

-- name: delete_targets
DELETE FROM sniper_targets WHERE user_id = :user_id

-- name: delete_mails_of_user
-- Only templates whose subject is the user's own row.
DELETE FROM mails WHERE state = 'queued' AND due_at >= '' AND subject_id = :user_id
    AND template IN
        ('welcome', 'new_key', 'new_webhook_secret', 'key_refused', 'webhook_refused', 'password_changed')

-- name: end_userplan
-- The plan has no further period.
UPDATE userplans SET status = 'deleted', current_period_end = '9999-12-31T00:00:00.000Z' WHERE user_id = :user_id

-- name: caller_by_fingerprint
SELECT users.id, users.uuid, users.email, userplans.plan, userplans.current_period_end
FROM api_keys
JOIN users ON users.id = api_keys.user_id
LEFT JOIN userplans ON userplans.user_id = users.id
WHERE api_keys.fingerprint = :fingerprint AND api_keys.refused = 0 AND users.locked_at IS NULL

-- name: caller_by_session
SELECT users.id, users.uuid, users.email, userplans.plan, userplans.current_period_end, users.usertype
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
SELECT users.*, users.credit_cents / 100.0 AS credit_balance, api_keys.uuid AS key_uuid, api_keys.fingerprint,
    EXISTS (SELECT 1 FROM sessions WHERE sessions.user_id = users.id AND sessions.expires_at > :now) AS is_online
FROM users
LEFT JOIN api_keys ON api_keys.user_id = users.id
WHERE users.id = :id

-- name: devices_of_user
-- The first digits of the fingerprint, which is a hash of the session's id.
SELECT lower(substr(hex(fingerprint), 1, 16)) AS device
FROM sessions
WHERE user_id = :id AND expires_at > :now
ORDER BY id DESC

-- name: update_user
UPDATE users
SET webhook_url = CASE WHEN :set_webhook_url = 1 THEN :webhook_url ELSE webhook_url END,
    notify_email = coalesce(:notify_email, notify_email),
    notify_browser = coalesce(:notify_browser, notify_browser),
    webhook_topics = coalesce(:webhook_topics, webhook_topics),
    updated_at = :now
WHERE id = :id

-- name: set_password
UPDATE users SET password = :password, password_serial = password_serial + 1, updated_at = :now WHERE id = :id

-- name: update_email
-- No row if the account was locked or deleted, or has another email in the meantime.
UPDATE users SET email = :new_email, verify_email = 1, updated_at = :now
WHERE id = :user_id AND email = :old_email AND locked_at IS NULL

-- name: revert_email
-- No row if the account was locked or deleted. Without a password nobody can log in until it is reset.
UPDATE users
SET email = :old_email, verify_email = 1, password = NULL, password_serial = password_serial + 1, updated_at = :now
WHERE id = :user_id AND locked_at IS NULL

-- name: update_password_hash
UPDATE users SET password = :password WHERE id = :id AND password = :old

-- name: set_verified
UPDATE users SET verify_email = 1, updated_at = :now WHERE id = :id AND verify_email = 0

-- name: set_locked
UPDATE users SET locked_at = :locked_at, updated_at = :now WHERE id = :id

-- name: change_credit
UPDATE users SET credit_cents = credit_cents + :cents, updated_at = :now
WHERE id = :user_id AND credit_cents + :cents >= 0
RETURNING credit_cents

-- name: any_user_or_invite
SELECT EXISTS (SELECT 1 FROM users) OR EXISTS (SELECT 1 FROM invites)
