-- name: insert_invite
INSERT INTO invites (uuid, fingerprint, made_with, note, created_at, expires_at)
VALUES (:uuid, :fingerprint, :made_with, :note, :now, :expires_at)

-- name: invite_by_fingerprint
SELECT id, expires_at, revoked_at, used_at FROM invites WHERE fingerprint = :fingerprint

-- name: invite_by_id
SELECT id, expires_at, revoked_at, used_at FROM invites WHERE id = :id

-- name: use_invite
UPDATE invites SET used_at = :now
WHERE id = :id AND used_at IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)

-- name: set_invite_user
UPDATE invites SET used_by = :user_id WHERE id = :id

-- name: revoke_invite
UPDATE invites SET revoked_at = :now WHERE id = :id AND used_at IS NULL AND revoked_at IS NULL

-- name: invites
SELECT invites.uuid, invites.fingerprint, invites.note, invites.created_at, invites.expires_at, invites.revoked_at,
    invites.used_at, users.email AS used_by
FROM invites
LEFT JOIN users ON users.id = invites.used_by
ORDER BY invites.id
