-- name: insert_delivery
INSERT INTO deliveries (delivery_id, user_id, event_type, target_id, body, url, lane, asked, state, due_at, created_at)
VALUES (:delivery_id, :user_id, :event_type, :target_id, :body, :url, :lane, :asked, 'pending', :now, :now)
ON CONFLICT (delivery_id) DO NOTHING

-- name: topic_users
SELECT users.id, users.uuid, users.webhook_url
FROM users
JOIN json_each(users.webhook_topics) AS topic ON topic.value = :topic
WHERE users.webhook_topics <> '[]' AND users.webhook_url IS NOT NULL AND users.locked_at IS NULL
ORDER BY users.id

-- name: webhook_user
SELECT id, uuid, webhook_url, webhook_topics, locked_at FROM users WHERE id = :id

-- name: deliveries_of_user
SELECT id, delivery_id, event_type, target_id, body, url, state AS status, attempts AS attempt_count, due_at, created_at,
    done_at, last_status AS last_status_code, last_error
FROM deliveries
WHERE id IN (
    -- Only one of the four combinations of filters applies, and each has an index.
    SELECT id FROM (
        SELECT id FROM deliveries
        WHERE :state IS NULL AND :event_type IS NULL AND user_id = :user_id AND id < :before
        UNION ALL
        SELECT id FROM deliveries
        WHERE :event_type IS NULL AND user_id = :user_id AND state = :state AND id < :before
        UNION ALL
        SELECT id FROM deliveries
        WHERE :state IS NULL AND user_id = :user_id AND event_type = :event_type AND id < :before
        UNION ALL
        SELECT id FROM deliveries
        WHERE user_id = :user_id AND state = :state AND event_type = :event_type AND id < :before
        ORDER BY id DESC
        LIMIT :limit OFFSET :offset
    ) AS found
)
ORDER BY id DESC

-- name: attempts_of_delivery
SELECT number AS attempt, started_at, ended_at, took_ms AS duration_ms, status AS status_code, error, response_body
FROM delivery_attempts
WHERE delivery = :delivery
ORDER BY number DESC
LIMIT :limit

-- name: delivery
SELECT id, delivery_id, event_type, target_id, body, url, state AS status, attempts AS attempt_count, due_at, created_at,
    done_at, last_status AS last_status_code, last_error
FROM deliveries
WHERE delivery_id = :delivery_id AND user_id = :user_id

-- name: requeue_delivery
UPDATE deliveries
SET state = 'pending', failures = 0, due_at = :now, done_at = NULL, lane = :lane, asked = 1
WHERE id = :id AND state IN ('delivered', 'dropped')

-- name: dropped_deliveries
SELECT delivery_id, event_type, lane, attempts, last_error, done_at AS dropped_at
FROM deliveries
WHERE user_id = :user_id AND state = 'dropped'
ORDER BY done_at DESC, id DESC
LIMIT :limit

-- name: webhook_secret
SELECT users.uuid AS user_uuid, webhook_secrets.*
FROM users
LEFT JOIN webhook_secrets ON webhook_secrets.user_id = users.id
WHERE users.id = :user_id

-- name: insert_webhook_secret
INSERT INTO webhook_secrets (user_id, uuid, fingerprint, made_with, created_at)
VALUES (:user_id, :uuid, :fingerprint, :made_with, :now)

-- name: rotate_webhook_secret
UPDATE webhook_secrets
SET previous_uuid = uuid, previous_fingerprint = fingerprint, previous_until = :until,
    uuid = :uuid, fingerprint = :fingerprint, made_with = :made_with, refused = 0, created_at = :now
WHERE user_id = :user_id

-- name: replace_webhook_secret
UPDATE webhook_secrets
SET previous_uuid = NULL, previous_fingerprint = NULL, previous_until = NULL,
    uuid = :uuid, fingerprint = :fingerprint, made_with = :made_with, refused = 0, created_at = :now
WHERE user_id = :user_id

-- name: remove_webhook_url
UPDATE users SET webhook_url = NULL, updated_at = :now WHERE id = :user_id AND webhook_url IS NOT NULL

-- name: receiver_urls
-- The receivers of an account and of its targets that have not stopped.
SELECT webhook_url AS url FROM users WHERE id = :user_id AND webhook_url IS NOT NULL
UNION
SELECT webhook_url AS url FROM sniper_targets
WHERE user_id = :user_id AND state <> 'STOPPED' AND webhook_url IS NOT NULL
ORDER BY url

-- name: drop_waiting_deliveries
UPDATE deliveries
SET state = 'dropped', due_at = NULL, done_at = :now, held_at = NULL, last_error = :reason
WHERE user_id = :user_id AND state IN ('pending', 'sending', 'retry_pending')

-- name: release_deliveries
UPDATE deliveries SET due_at = :now, held_at = NULL, last_error = NULL WHERE user_id = :user_id AND held_at IS NOT NULL

-- name: webhook_secrets_after
SELECT user_id AS id FROM webhook_secrets WHERE user_id > :id ORDER BY user_id LIMIT :limit

-- name: failed_deliveries
-- Deliveries of all accounts. Of the receiver only the host is returned.
SELECT deliveries.delivery_id, users.email, users.uuid AS account, deliveries.event_type, deliveries.state, deliveries.lane,
    deliveries.attempts, deliveries.last_error, deliveries.created_at
FROM deliveries
JOIN users ON users.id = deliveries.user_id
WHERE deliveries.state IN ('retry_pending', 'dropped')
ORDER BY deliveries.id DESC
LIMIT :limit
