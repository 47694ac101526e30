-- name: insert_delivery
INSERT INTO deliveries (delivery_id, user_id, event_type, target_id, body, url, lane, state, due_at, created_at)
VALUES (:delivery_id, :user_id, :event_type, :target_id, :body, :url, :lane, 'pending', :now, :now)
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
SELECT id, delivery_id, event_type, target_id, body, url, state, attempts, due_at, created_at, done_at, last_status,
    last_error
FROM deliveries
WHERE user_id = :user_id AND id < :before
    AND (:state IS NULL OR state = :state) AND (:event_type IS NULL OR event_type = :event_type)
ORDER BY id DESC
LIMIT :limit

-- name: attempts_of_delivery
SELECT number, started_at, ended_at, took_ms, status, error, response_body
FROM delivery_attempts
WHERE delivery = :delivery
ORDER BY number DESC
LIMIT :limit

-- name: delivery
SELECT id, delivery_id, event_type, target_id, body, url, state, attempts, due_at, created_at, done_at, last_status,
    last_error
FROM deliveries
WHERE delivery_id = :delivery_id AND user_id = :user_id

-- name: put_back_delivery
UPDATE deliveries
SET state = 'pending', failures = 0, due_at = :now, done_at = NULL
WHERE id = :id AND state IN ('delivered', 'dropped')

-- name: dropped_deliveries
SELECT delivery_id, event_type, lane, attempts, last_error, done_at
FROM deliveries
WHERE user_id = :user_id AND state = 'dropped'
ORDER BY done_at DESC, id DESC
LIMIT :limit

-- name: webhook_secret
SELECT users.uuid AS user_uuid, webhook_secrets.*
FROM webhook_secrets
JOIN users ON users.id = webhook_secrets.user_id
WHERE webhook_secrets.user_id = :user_id

-- name: insert_webhook_secret
INSERT INTO webhook_secrets (user_id, uuid, fingerprint, created_at) VALUES (:user_id, :uuid, :fingerprint, :now)

-- name: rotate_webhook_secret
UPDATE webhook_secrets
SET previous_uuid = uuid, previous_fingerprint = fingerprint, previous_until = :until,
    uuid = :uuid, fingerprint = :fingerprint, created_at = :now
WHERE user_id = :user_id
