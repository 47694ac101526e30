-- name: credential_counts
-- Credentials that are still valid, by the master secret they were derived with.
SELECT 'API key' AS kind, made_with, count(*) AS number
FROM api_keys
WHERE refused = 0
GROUP BY made_with
UNION ALL
SELECT 'webhook secret', made_with, count(*)
FROM webhook_secrets
WHERE refused = 0
GROUP BY made_with
UNION ALL
SELECT 'invite code', made_with, count(*)
FROM invites
WHERE used_at IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
GROUP BY made_with
