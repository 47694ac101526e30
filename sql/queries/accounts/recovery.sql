-- name: upsert_verification
INSERT INTO verifications (user_id, uuid, created_at, expires_at)
VALUES (:user_id, :uuid, :now, :expires_at)
ON CONFLICT (user_id) DO UPDATE
SET uuid = excluded.uuid, created_at = excluded.created_at, expires_at = excluded.expires_at
RETURNING id

-- name: verification
SELECT verifications.id, verifications.user_id, verifications.uuid, verifications.expires_at, users.email
FROM verifications
JOIN users ON users.id = verifications.user_id
WHERE verifications.id = :id

-- name: live_verification_id
SELECT id FROM verifications WHERE user_id = :user_id AND expires_at > :now

-- name: upsert_reset
-- By email, so that the same work is done whether the user exists or not.
INSERT INTO resets (user_id, uuid, created_at, expires_at)
SELECT id, :uuid, :now, :expires_at FROM users WHERE email = :email
ON CONFLICT (user_id) DO UPDATE
SET uuid = excluded.uuid, created_at = excluded.created_at, expires_at = excluded.expires_at
WHERE resets.expires_at <= :now
RETURNING id

-- name: reset
-- password_serial is 0 for the password of the registration. Only a revert of a changed email removes a password.
SELECT resets.id, resets.user_id, resets.uuid, resets.expires_at, users.email,
    ((users.password_serial = 0) = (users.password IS NOT NULL)) AS is_suspect
FROM resets
JOIN users ON users.id = resets.user_id
WHERE resets.id = :id

-- name: consume_reset
DELETE FROM resets WHERE id = :id AND uuid = :uuid AND expires_at > :now RETURNING user_id

-- name: delete_reset
DELETE FROM resets WHERE id = :id

-- name: insert_email_change
INSERT INTO email_changes (user_id, uuid, old_email, new_email, created_at, expires_at, revert_until)
VALUES (:user_id, :uuid, :old_email, :new_email, :now, :expires_at, :revert_until)

-- name: email_change
SELECT id, user_id, uuid, old_email, new_email, expires_at FROM email_changes WHERE id = :id

-- name: email_revert
SELECT id, user_id, uuid, old_email, new_email, revert_until AS expires_at FROM email_changes WHERE id = :id

-- name: extend_email_revert
UPDATE email_changes SET revert_until = :revert_until WHERE id = :id

-- name: end_email_reverts
-- The links of this change and of the later ones.
UPDATE email_changes SET revert_until = :now WHERE user_id = :user_id AND id >= :id AND revert_until > :now

-- name: is_email_reserved
-- True for an address to which a change of another account can still be reverted.
SELECT EXISTS (
    SELECT 1 FROM email_changes WHERE old_email = :email AND revert_until > :now AND user_id <> :user_id
)

-- name: end_email_changes
UPDATE email_changes SET expires_at = :now WHERE user_id = :user_id AND expires_at > :now

-- name: end_all_email_changes
UPDATE email_changes SET expires_at = :now WHERE expires_at > :now

-- name: delete_email_changes
DELETE FROM email_changes WHERE user_id = :user_id

-- name: delete_old_email_changes
DELETE FROM email_changes WHERE created_at < :before

-- name: failing_receiver
SELECT users.email, substr(failing_receivers.lane, 1, instr(failing_receivers.lane, ' ') - 1) AS host
FROM failing_receivers
JOIN users ON users.id = failing_receivers.user_id
WHERE failing_receivers.id = :id
