-- name: next_happening
-- The next time after :now, up to :until, at which something is due: work of the service, or, unless only :work is wanted,
-- the end of a plan's period.
SELECT min(at)
FROM (
    SELECT due_at AS at FROM deliveries WHERE due_at IS NOT NULL
    UNION ALL SELECT due_at FROM mails WHERE state = 'queued'
    UNION ALL SELECT start_time FROM sniper_targets WHERE state = 'CREATED'
    UNION ALL SELECT end_time FROM sniper_targets WHERE state <> 'STOPPED'
    UNION ALL SELECT current_period_end FROM userplans WHERE NOT :work
)
WHERE at > :now AND at <= :until

-- name: happenings
-- What happened after :since up to :until, oldest first.
SELECT at, what, subject, detail
FROM (
    SELECT started_at AS at, 'webhook.attempt' AS what, delivery_id AS subject,
        printf('%s attempt %d: %s', event_type, number, coalesce(error, 'answered ' || status, 'under way')) AS detail
    FROM delivery_attempts
    JOIN deliveries ON deliveries.id = delivery_attempts.delivery
    UNION ALL SELECT done_at, 'webhook.' || state, delivery_id, event_type FROM deliveries WHERE done_at IS NOT NULL
    UNION ALL SELECT done_at, 'mail.' || state, template, last_error FROM mails WHERE done_at IS NOT NULL
    UNION ALL SELECT start_time, 'sniper.window_opened', target_id, ticker FROM sniper_targets WHERE state <> 'CREATED'
    UNION ALL SELECT stopped_at, 'sniper.' || resolution_reason, target_id, ticker
    FROM sniper_targets
    WHERE stopped_at IS NOT NULL
    UNION ALL SELECT ledger.created_at, 'plan.refilled', email, printf('%+d tokens', delta)
    FROM ledger
    JOIN users ON users.id = ledger.user_id
    WHERE reason = 'refill' AND ledger.created_at > users.created_at
    UNION ALL SELECT expires_at, 'session.expired', email, NULL
    FROM sessions
    JOIN users ON users.id = sessions.user_id
    UNION ALL SELECT expires_at, 'reset_token.expired', email, NULL
    FROM resets
    JOIN users ON users.id = resets.user_id
    UNION ALL SELECT expires_at, 'verification_link.expired', email, NULL
    FROM verifications
    JOIN users ON users.id = verifications.user_id
    WHERE NOT verify_email
    UNION ALL SELECT expires_at, 'invite.expired', note, NULL FROM invites WHERE expires_at IS NOT NULL
    UNION ALL SELECT strftime('%Y-%m-%dT%H:%M:%fZ', last_at,
            CASE failures WHEN 5 THEN '+60 seconds' WHEN 10 THEN '+5 minutes' ELSE '+1 hour' END),
        'lockout.ended', hex(email), printf('after %d wrong passwords', failures)
    FROM login_failures
    WHERE failures IN (5, 10, 20)
)
WHERE at > :since AND at <= :until
ORDER BY at, what, subject

-- name: users_of_world
SELECT id, email FROM users ORDER BY id

-- name: signers_of_world
SELECT user_id FROM webhook_secrets

-- name: credentials_of_world
SELECT fingerprint FROM api_keys UNION ALL SELECT fingerprint FROM sessions

-- name: journal_of_world
SELECT sum(last_seq) AS event_count, (SELECT epoch FROM journal) AS epoch FROM feeds

-- name: mail_is_queued
SELECT min(due_at) IS NOT NULL FROM mails WHERE state = 'queued'

-- name: newest_round
SELECT max(tick) FROM status_checks

-- name: count_hours_passed
-- Count a round for each tick from :since to before :tick, with the results of the round of :tick.
WITH RECURSIVE buckets(start) AS (
    SELECT :since - :since % 3600
    UNION ALL SELECT start + 3600 FROM buckets WHERE start + 3600 < :tick
)
INSERT INTO status_hours (service, start, checks, healthy, degraded, down, ms)
SELECT service, start, checks, checks * (class = 'healthy'), checks * (class = 'degraded'), checks * (class = 'down'),
    checks * ms
FROM (
    SELECT service, class, ms, start,
        (min(:tick, start + 3600) - 1) / :interval - (max(:since, start) - 1) / :interval AS checks
    FROM status_checks CROSS JOIN buckets
    WHERE tick = :tick
)
WHERE checks > 0
ON CONFLICT (service, start) DO UPDATE SET
    checks = checks + excluded.checks, healthy = healthy + excluded.healthy, degraded = degraded + excluded.degraded,
    down = down + excluded.down, ms = ms + excluded.ms

-- name: sum_days_passed
INSERT OR REPLACE INTO status_days (service, start, checks, healthy, degraded, down, ms)
SELECT service, start - start % 86400 AS day, sum(checks), sum(healthy), sum(degraded), sum(down), sum(ms)
FROM status_hours
WHERE start >= :since - :since % 86400
GROUP BY service, day
