-- name: login_failures
SELECT email, failures, last_at FROM login_failures WHERE last_at > :since

-- name: login_failures_of_email
SELECT failures, last_at FROM login_failures WHERE email = :email AND last_at > :since

-- name: increment_login_failures
-- A failure during a lock changes nothing: another process was checking that password when the lock began.
INSERT INTO login_failures (email, failures, last_at) VALUES (:email, 1, :now)
ON CONFLICT (email) DO UPDATE SET
    failures = CASE
        WHEN login_failures.failures = 5 AND login_failures.last_at > :since_5
            OR login_failures.failures = 10 AND login_failures.last_at > :since_10
            OR login_failures.failures = 20 AND login_failures.last_at > :since_20 THEN login_failures.failures
        WHEN login_failures.failures >= :most THEN :most
        ELSE login_failures.failures + 1
    END,
    last_at = CASE
        WHEN login_failures.failures = 5 AND login_failures.last_at > :since_5
            OR login_failures.failures = 10 AND login_failures.last_at > :since_10
            OR login_failures.failures = 20 AND login_failures.last_at > :since_20 THEN login_failures.last_at
        ELSE excluded.last_at
    END
RETURNING failures, last_at

-- name: upsert_login_failures
INSERT INTO login_failures (email, failures, last_at) VALUES (:email, :failures, :last_at)
ON CONFLICT (email) DO UPDATE SET failures = excluded.failures, last_at = excluded.last_at

-- name: delete_login_failures
DELETE FROM login_failures WHERE email = :email

-- name: delete_old_login_failures
DELETE FROM login_failures WHERE last_at <= :before

-- name: login_address
SELECT 1 FROM login_addresses WHERE user_id = :user_id AND address = :address AND last_at > :since

-- name: upsert_login_address
INSERT INTO login_addresses (user_id, address, last_at) VALUES (:user_id, :address, :now)
ON CONFLICT (user_id, address) DO UPDATE SET last_at = excluded.last_at

-- name: delete_old_login_addresses
DELETE FROM login_addresses WHERE last_at <= :before

-- name: delete_surplus_login_addresses
DELETE FROM login_addresses
WHERE user_id = :user_id AND address NOT IN (
    SELECT address FROM login_addresses WHERE user_id = :user_id ORDER BY last_at DESC, address LIMIT :most
)
