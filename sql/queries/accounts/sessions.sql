-- name: insert_session
INSERT INTO sessions (user_id, fingerprint, created_at, expires_at)
VALUES (:user_id, :fingerprint, :now, :expires_at)

-- name: delete_expired_sessions
DELETE FROM sessions WHERE user_id = :user_id AND expires_at <= :now

-- name: evict_oldest_sessions
DELETE FROM sessions
WHERE user_id = :user_id AND id NOT IN (
    SELECT id FROM sessions WHERE user_id = :user_id ORDER BY id DESC LIMIT
        coalesce((SELECT device_limit FROM users WHERE users.id = :user_id), :device_limit)
)

-- name: delete_session
DELETE FROM sessions WHERE fingerprint = :fingerprint

-- name: delete_sessions
DELETE FROM sessions WHERE user_id = :user_id

-- name: sessions_of_user
SELECT fingerprint, created_at, expires_at
FROM sessions
WHERE user_id = :user_id AND expires_at > :now
ORDER BY id DESC

-- name: delete_other_sessions
DELETE FROM sessions WHERE user_id = :user_id AND fingerprint <> :fingerprint

-- name: is_session_confirmed
SELECT EXISTS (SELECT 1 FROM sessions WHERE fingerprint = :fingerprint AND confirmed_at > :since)

-- name: confirm_session
UPDATE sessions SET confirmed_at = :now WHERE fingerprint = :fingerprint
