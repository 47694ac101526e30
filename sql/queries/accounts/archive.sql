-- name: archive_state
-- marked: the day has its mark. archived: the last archived row. due: the last row to archive, which is before every
-- open debit; no call lasts so long that one is open then.
SELECT EXISTS (SELECT 1 FROM ledger_marks WHERE day = :today) AS marked,
    coalesce((SELECT max(last_id) FROM ledger_archives), 0) AS archived,
    coalesce(min((SELECT max(last_id) FROM ledger_marks WHERE day < :before),
        coalesce((SELECT min(id) - 1 FROM ledger WHERE id > :closed_to AND open = 1), 4611686018427387904)), 0) AS due,
    (SELECT min(day) FROM ledger_days) AS oldest

-- name: insert_ledger_mark
INSERT INTO ledger_marks (day, last_id) SELECT :day, coalesce(max(id), 0) FROM ledger
WHERE true
ON CONFLICT (day) DO NOTHING

-- name: last_ledger_mark
SELECT max(day) FROM ledger_marks

-- name: delete_ledger_marks
DELETE FROM ledger_marks WHERE day < :before AND last_id <= :archived

-- name: ledger_archived_to
SELECT max(last_id) FROM ledger_archives

-- name: ledger_rows_to_archive
SELECT ledger.id, users.uuid AS account, ledger.created_at, ledger.delta, ledger.reason, ledger.endpoint,
    ledger.request_id, ledger.status
FROM ledger
JOIN users ON users.id = ledger.user_id
WHERE ledger.id > :after AND ledger.id <= :to AND ledger.open = 0
ORDER BY ledger.id
LIMIT :limit

-- name: insert_ledger_archive
INSERT INTO ledger_archives (last_id, file, rows, last_at, sha256, created_at)
VALUES (:last_id, :file, :rows, :last_at, :sha256, :now)

-- name: last_id_of_chunk
-- The last id of the next :limit rows to remove, or null if there are none.
SELECT max(id) FROM (SELECT id FROM ledger WHERE id > 0 AND id <= :to ORDER BY id LIMIT :limit) AS chunk

-- name: upsert_carried_over
INSERT INTO ledger (id, user_id, delta, reason, created_at)
SELECT -user_id, user_id, sum(delta), 'carried_over', max(created_at)
FROM ledger
WHERE id > 0 AND id <= :to
GROUP BY user_id
ON CONFLICT (id) DO UPDATE SET delta = ledger.delta + excluded.delta, created_at = max(ledger.created_at, excluded.created_at)

-- name: delete_archived_rows
DELETE FROM ledger WHERE id > 0 AND id <= :to

-- name: delete_usage
DELETE FROM ledger_days WHERE (user_id, day, endpoint) IN (
    SELECT user_id, day, endpoint FROM ledger_days WHERE day < :before LIMIT :limit
)

-- name: ledger_archives
SELECT last_id, file, rows, sha256 FROM ledger_archives ORDER BY last_id

-- name: carried_over
SELECT users.uuid AS account,
    (SELECT coalesce(sum(delta), 0) FROM ledger WHERE ledger.user_id = users.id AND ledger.id <= :to) AS tokens
FROM users

-- name: unequal_usage
SELECT users.email, found.day, found.endpoint
FROM (
    SELECT user_id, day, endpoint, tokens, calls FROM ledger_days
    UNION ALL
    SELECT user_id, substr(created_at, 1, 10), endpoint, delta, CASE reason WHEN 'debit' THEN -1 ELSE 0 END
    FROM ledger
    WHERE endpoint IS NOT NULL AND id <= (SELECT last_id FROM ledger_summed)
) AS found
JOIN users ON users.id = found.user_id
WHERE found.day > :after
GROUP BY found.user_id, users.email, found.day, found.endpoint
HAVING sum(found.tokens) <> 0 OR sum(found.calls) <> 0
ORDER BY found.user_id, found.day, found.endpoint

-- name: archived_until
SELECT max(last_at) FROM ledger_archives
