-- name: put_outbox
INSERT INTO outbox (accession, type, subject, occurred_at, tickers, ciks, form_type, data, noted_at)
VALUES (:accession, :type, :subject, :occurred_at, :tickers, :ciks, :form_type, :data, :now)

-- name: outbox_rows
SELECT id, accession, type, subject, occurred_at, tickers, ciks, form_type, data, noted_at
FROM outbox
ORDER BY id
LIMIT :limit

-- name: mark_carried
INSERT INTO carried (accession, type, subject, carried_at) VALUES (:accession, :type, :subject, :noted_at)
ON CONFLICT DO NOTHING

-- name: drop_outbox
DELETE FROM outbox WHERE id = ?

-- name: forget_carried
DELETE FROM carried WHERE carried_at < :before
