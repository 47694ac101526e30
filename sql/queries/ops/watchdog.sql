-- name: insert_check
-- A check with this tick was counted before: by a round before a restart, or before the clock was set back.
INSERT INTO status_checks (service, tick, class, ms, reason) VALUES (:service, :tick, :health, :ms, :reason)
ON CONFLICT (service, tick) DO NOTHING

-- name: insert_change
INSERT INTO status_changes (service, changed_at, status, reason)
SELECT :service, :now, :status, :reason
WHERE :status <> coalesce(
    (SELECT status FROM status_changes WHERE service = :service ORDER BY id DESC LIMIT 1), 'operational')

-- name: uptimes
SELECT service, sum(healthy) AS healthy, sum(checks) AS checks
FROM json_each(:services) CROSS JOIN status_days ON service = json_each.value AND start BETWEEN :since AND :until
GROUP BY service

-- name: forget_checks
-- Rows are kept by number and not by age: a clock that is wrong for a while must not delete earlier ones.
DELETE FROM status_checks
WHERE service = :service
    AND tick < (SELECT tick FROM status_checks WHERE service = :service ORDER BY tick DESC LIMIT 1 OFFSET :keep)

-- name: forget_hours
DELETE FROM status_hours
WHERE service = :service
    AND start < (SELECT start FROM status_hours WHERE service = :service ORDER BY start DESC LIMIT 1 OFFSET :keep)

-- name: forget_days
DELETE FROM status_days
WHERE service = :service
    AND start < (SELECT start FROM status_days WHERE service = :service ORDER BY start DESC LIMIT 1 OFFSET :keep)

-- name: forget_changes
DELETE FROM status_changes WHERE id <= (SELECT max(id) FROM status_changes) - :keep

-- name: last_checks
SELECT checks.service, checks.tick, checks.class AS health, checks.reason
FROM json_each(:services) CROSS JOIN status_checks AS checks ON checks.service = json_each.value
    AND checks.tick = (SELECT max(tick) FROM status_checks WHERE service = json_each.value)
