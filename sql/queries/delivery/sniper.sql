-- part: target_filter
WHERE user_id = :user_id AND (:ticker IS NULL OR ticker = :ticker)
    AND (:status IS NULL OR :status = CASE
        WHEN state = 'STOPPED' OR end_time <= :now THEN 'STOPPED'
        WHEN start_time <= :now THEN 'ACTIVE'
        ELSE 'CREATED' END)

-- name: insert_target
INSERT INTO sniper_targets (target_id, user_id, cik, ticker, state, form_types, webhook_url, start_time, end_time,
    created_at)
VALUES (:target_id, :user_id, :cik, :ticker, :state, :form_types, :webhook_url, :start_time, :end_time, :now)

-- name: target
-- A hit is sent to the target's own receiver, else to the account's.
SELECT sniper_targets.*, coalesce(sniper_targets.webhook_url, users.webhook_url) AS receiver
FROM sniper_targets
JOIN users ON users.id = sniper_targets.user_id
WHERE target_id = :target_id AND user_id = :user_id

-- name: targets_of_user
-- The state at this time, even if it has not been written yet.
SELECT sniper_targets.*, coalesce(sniper_targets.webhook_url, users.webhook_url) AS receiver
FROM sniper_targets
JOIN users ON users.id = sniper_targets.user_id
{target_filter}
ORDER BY sniper_targets.id DESC
LIMIT :limit OFFSET :offset

-- name: count_targets
SELECT count(*)
FROM sniper_targets
{target_filter}

-- name: delete_old_targets
DELETE FROM sniper_targets
WHERE user_id = :user_id AND state = 'STOPPED' AND id <= (
    SELECT id FROM sniper_targets WHERE user_id = :user_id ORDER BY id DESC LIMIT 1 OFFSET :kept
)

-- name: slots_used
SELECT count(*) FROM sniper_targets WHERE user_id = :user_id AND state <> 'STOPPED' AND end_time > :now

-- name: targets_watching
SELECT sniper_targets.*
FROM sniper_targets
WHERE cik IN (SELECT CAST(value AS BIGINT) FROM json_each(:ciks)) AND state <> 'STOPPED' AND start_time <= :now
    AND end_time > :now
ORDER BY id

-- name: open_targets_of_user
SELECT * FROM sniper_targets WHERE user_id = :user_id AND state <> 'STOPPED' ORDER BY id

-- name: targets_ending
SELECT * FROM sniper_targets WHERE state <> 'STOPPED' AND end_time <= :now ORDER BY end_time LIMIT :limit

-- name: targets_beginning
SELECT * FROM sniper_targets WHERE state = 'CREATED' AND start_time <= :now ORDER BY start_time LIMIT :limit

-- name: update_target
UPDATE sniper_targets
SET state = :state, resolution_reason = :reason, stopped_at = :stopped_at, hit_accession = :hit_accession,
    hit_form = :hit_form, hit_filed_at = :hit_filed_at, hit_url = :hit_url
WHERE id = :id AND state = :old
