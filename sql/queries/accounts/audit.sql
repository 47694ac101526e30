-- name: insert_audit_row
-- Inserts no row unless the actor is the command line or an administrator whose account is not locked.
INSERT INTO audit (at, by_user, action, subject, detail, place, once)
SELECT :now, :by_user, :action, :subject, :detail, :place, :once
WHERE :by_user IS NULL
    OR EXISTS (SELECT 1 FROM users WHERE id = :by_user AND usertype = 'admin' AND locked_at IS NULL)

-- name: insert_owner_audit_row
INSERT INTO audit (at, by_user, action, subject, detail, place)
VALUES (:now, :user_id, :action, :user_id, '', :place)

-- name: audit_rows
SELECT audit.id, audit.at, coalesce(admins.email, 'command line') AS who, audit.action, subjects.email AS account,
    subjects.uuid AS account_uuid, audit.detail, audit.place
FROM audit
LEFT JOIN users AS admins ON admins.id = audit.by_user
LEFT JOIN users AS subjects ON subjects.id = audit.subject
WHERE audit.id < :before
ORDER BY audit.id DESC
LIMIT :limit
