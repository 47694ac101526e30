-- name: day_buckets
SELECT service, start, checks, healthy, degraded, down, ms
FROM json_each(:services) CROSS JOIN status_days ON service = json_each.value AND start BETWEEN :since AND :until
ORDER BY json_each.key, start

-- name: hour_buckets
SELECT service, start, checks, healthy, degraded, down, ms
FROM json_each(:services) CROSS JOIN status_hours ON service = json_each.value AND start BETWEEN :since AND :until
ORDER BY json_each.key, start

-- name: newest_changes
SELECT id, service, changed_at, status, reason FROM status_changes WHERE id > 0 ORDER BY id DESC LIMIT :limit

-- name: queued_mails
-- At most 100,000 are counted: a larger number says no more.
SELECT count(*) FROM (SELECT 1 FROM mails WHERE state = 'queued' AND due_at > '' LIMIT 100000) AS waiting

-- name: queued_deliveries
SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE due_at > '' LIMIT 100000) AS waiting
