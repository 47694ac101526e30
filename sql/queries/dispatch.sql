-- name: due_lanes
-- Each lane once, by a step along the index from one to the next.
WITH RECURSIVE lanes (name) AS (
    SELECT min(lane) FROM deliveries WHERE due_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(lane) FROM deliveries WHERE due_at IS NOT NULL AND lane > lanes.name)
    FROM lanes
    WHERE lanes.name IS NOT NULL
)
SELECT name, (SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND lane = lanes.name) AS due_at
FROM lanes
WHERE name IS NOT NULL

-- name: due_deliveries
SELECT id, delivery_id, user_id, event_type, body, url, lane, attempts, failures
FROM deliveries
WHERE lane = :lane AND due_at <= :now
ORDER BY due_at, id
LIMIT :limit

-- name: soonest_delivery
SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL

-- name: claim_delivery
UPDATE deliveries
SET state = 'sending', attempts = attempts + 1, due_at = :until
WHERE id = :id AND attempts = :attempts AND due_at IS NOT NULL

-- name: insert_attempt
INSERT INTO delivery_attempts (delivery, number, started_at) VALUES (:delivery, :number, :now)

-- name: end_attempt
UPDATE delivery_attempts
SET ended_at = :now, took_ms = :took_ms, status = :status, error = :error, response_body = :response_body
WHERE delivery = :delivery AND number = :number

-- name: record_delivery
-- An attempt that is not the last one any more was given up for lost, and changes nothing.
UPDATE deliveries
SET state = :state, failures = :failures, due_at = :due_at, last_status = :status, last_error = :error,
    done_at = CASE WHEN :due_at IS NULL THEN :now END
WHERE id = :id AND state = 'sending' AND attempts = :attempts

-- name: broken_off_attempts
SELECT deliveries.id, deliveries.attempts, deliveries.failures FROM deliveries WHERE state = 'sending'

-- name: requeue_broken_off
UPDATE deliveries
SET state = CASE WHEN failures > 0 THEN 'retry_pending' ELSE 'pending' END, due_at = :now
WHERE id = :id AND state = 'sending'

-- name: forget_deliveries
DELETE FROM deliveries WHERE done_at < :before
