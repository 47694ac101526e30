-- name: due_lanes
-- Each lane once: a loose index scan that steps from one lane to the next.
WITH RECURSIVE lanes (name) AS (
    SELECT min(lane) FROM deliveries WHERE due_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(lane) FROM deliveries WHERE due_at IS NOT NULL AND lane > lanes.name)
    FROM lanes
    WHERE lanes.name IS NOT NULL
)
SELECT name, min(
    coalesce((
        SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND lane = lanes.name AND (failures = 0) = (1 = 0)
    ), '~'),
    coalesce((
        SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL AND lane = lanes.name AND (failures = 0) = (1 = 1)
    ), '~')
) AS due_at
FROM lanes
WHERE name IS NOT NULL

-- name: due_deliveries
-- Retries first, because the time of a retry is documented.
SELECT * FROM (
    SELECT id, delivery_id, user_id, event_type, body, url, lane, attempts, failures
    FROM deliveries
    WHERE lane = :lane AND (failures = 0) = (1 = 0) AND due_at <= :now
    ORDER BY due_at, id
    LIMIT :limit
) AS retries
UNION ALL
SELECT * FROM (
    SELECT id, delivery_id, user_id, event_type, body, url, lane, attempts, failures
    FROM deliveries
    WHERE lane = :lane AND (failures = 0) = (1 = 1) AND due_at <= :now
    ORDER BY due_at, id
    LIMIT :limit
) AS firsts
LIMIT :limit

-- name: outbox_span
SELECT (SELECT min(due_at) FROM deliveries WHERE due_at IS NOT NULL) AS soonest,
    (SELECT max(due_at) FROM deliveries WHERE due_at IS NOT NULL) AS latest

-- name: update_late_deliveries
-- Deliveries that are due later than any schedule allows: the clock was set back.
UPDATE deliveries SET due_at = :latest WHERE due_at > :latest

-- name: claim_delivery
UPDATE deliveries
SET state = 'sending', attempts = attempts + 1, due_at = :until, held_at = NULL
WHERE id = :id AND attempts = :attempts AND due_at IS NOT NULL

-- name: insert_attempt
INSERT INTO delivery_attempts (delivery, number, started_at) VALUES (:delivery, :number, :now)

-- name: end_attempt
UPDATE delivery_attempts
SET ended_at = :now, took_ms = :took_ms, status = :status, error = :error, response_body = :response_body
WHERE delivery = :delivery AND number = :number

-- name: record_delivery
-- An attempt that is not the last one changes nothing: it was given up as lost before.
UPDATE deliveries
SET state = :state, failures = :failures, due_at = :due_at, last_status = :status, last_error = :error,
    done_at = CASE WHEN :due_at IS NULL THEN :now END
WHERE id = :delivery AND state = 'sending' AND attempts = :number

-- name: broken_off_attempts
SELECT deliveries.id, deliveries.attempts, deliveries.failures FROM deliveries WHERE state = 'sending'

-- name: requeue_broken_off
UPDATE deliveries
SET state = CASE WHEN failures > 0 THEN 'retry_pending' ELSE 'pending' END, due_at = :now
WHERE id = :id AND state = 'sending'

-- name: hold_deliveries
-- The deliveries of an account whose messages cannot be signed. held_at keeps the time of the first hold.
UPDATE deliveries
SET due_at = :until, last_error = :reason, held_at = coalesce(held_at, :now)
WHERE user_id = :user_id AND due_at <= :now AND state IN ('pending', 'retry_pending')

-- name: drop_held_deliveries
UPDATE deliveries
SET state = 'dropped', due_at = NULL, done_at = :now, held_at = NULL
WHERE id IN (SELECT id FROM deliveries WHERE held_at < :before LIMIT :limit)

-- name: delete_old_deliveries
DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE done_at < :before LIMIT :limit)

-- name: upsert_failing_receiver
INSERT INTO failing_receivers (lane, user_id, dropped, dropped_at) VALUES (:lane, :user_id, 1, :now)
ON CONFLICT (lane) DO UPDATE SET dropped = failing_receivers.dropped + 1, dropped_at = :now

-- name: mark_receiver_reported
-- A user is notified once for a receiver that fails again and again, and once a day for all its receivers.
UPDATE failing_receivers
SET told_at = :now
WHERE lane = :lane AND dropped >= :streak AND told_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM failing_receivers WHERE user_id = :user_id AND told_at > :day_ago)
RETURNING id

-- name: delete_failing_receiver
DELETE FROM failing_receivers WHERE lane = :lane

-- name: receiver_rests
SELECT 1 FROM failing_receivers WHERE lane = :lane AND dropped >= :streak AND dropped_at > :since

-- name: drop_resting_deliveries
UPDATE deliveries
SET state = 'dropped', due_at = NULL, done_at = :now, held_at = NULL, last_error = :reason
WHERE lane = :lane AND due_at <= :now AND asked = 0 AND state IN ('pending', 'retry_pending')

-- name: delete_old_receivers
DELETE FROM failing_receivers WHERE id IN (
    SELECT id FROM failing_receivers WHERE dropped_at < :before LIMIT :limit
)
