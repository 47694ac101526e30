-- name: insert_outbox_row
INSERT INTO outbox (accession, type, subject, occurred_at, tickers, ciks, form_type, data, noted_at)
VALUES (:accession, :type, :subject, :occurred_at, :tickers, :ciks, :form_type, :data, :now)

-- name: outbox_rows
-- Rows that were tried before only with :again.
SELECT id, accession, type, subject, occurred_at, tickers, ciks, form_type, data, noted_at, tries
FROM outbox
WHERE aside = 0 AND id > :after AND (tries = 0 OR :again)
ORDER BY id
LIMIT :limit

-- name: update_outbox_failure
-- Of several attempts at the same time, only one is counted.
UPDATE outbox SET tries = tries + 1, reason = :reason, aside = :aside WHERE id = :id AND tries = :tries

-- name: failed_outbox_rows
SELECT id, accession, type, noted_at, CASE aside WHEN 1 THEN 'put_aside' ELSE 'tried' END AS state, tries, reason
FROM outbox
WHERE aside = 1 OR (aside = 0 AND tries > 0)
ORDER BY id

-- name: count_outbox_aside
SELECT count(*) FROM (SELECT 1 FROM outbox WHERE aside = 1 LIMIT 100000)

-- name: reset_outbox_rows
UPDATE outbox SET tries = 0, aside = 0, reason = NULL
WHERE (:id IS NULL OR id = :id) AND (aside = 1 OR (aside = 0 AND tries > 0))

-- name: insert_carried
INSERT INTO carried (accession, type, subject, carried_at) VALUES (:accession, :type, :subject, :noted_at)
ON CONFLICT DO NOTHING

-- name: delete_outbox_row
DELETE FROM outbox WHERE id = ?

-- name: delete_carried
DELETE FROM carried WHERE (accession, type, subject) IN (
    SELECT accession, type, subject FROM carried WHERE carried_at < :before LIMIT :limit
)

-- name: delete_outbox_aside
DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE aside = 1 AND noted_at < :before LIMIT :limit)
