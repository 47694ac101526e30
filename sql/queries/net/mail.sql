-- name: insert_mail
INSERT INTO mails (template, subject_id, created_at, due_at) VALUES (:template, :subject_id, :now, :now)

-- name: due_mails
SELECT * FROM (
    SELECT id, template, subject_id, created_at, attempts
    FROM mails
    WHERE state = 'queued' AND due_at <= :now
    ORDER BY due_at, id
    LIMIT :limit
) AS due
UNION ALL
SELECT id, template, subject_id, created_at, attempts FROM mails WHERE state = 'queued' AND due_at > :latest
LIMIT :limit

-- name: next_mail_due
SELECT min(due_at) FROM mails WHERE state = 'queued'

-- name: claim_mail
-- Of several processes that read the row, only the first one changes it and makes the attempt.
UPDATE mails
SET attempts = attempts + 1, due_at = :due_at
WHERE id = :id AND state = 'queued' AND attempts = :attempts

-- name: record_mail
UPDATE mails
SET state = :state,
    due_at = coalesce(:due_at, due_at),
    done_at = CASE WHEN :state <> 'queued' THEN :now END,
    last_error = coalesce(:reason, last_error)
WHERE id = :id AND state = 'queued'

-- name: forget_mails
DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE done_at < :before LIMIT :limit)
