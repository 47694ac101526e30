-- name: unnamed_api_keys
SELECT api_keys.id, api_keys.fingerprint, users.uuid AS user_uuid, api_keys.uuid
FROM api_keys
JOIN users ON users.id = api_keys.user_id
WHERE api_keys.refused = 0 AND api_keys.made_with IS NULL

-- name: unnamed_webhook_secrets
SELECT webhook_secrets.user_id AS id, webhook_secrets.fingerprint, users.uuid AS user_uuid, webhook_secrets.uuid
FROM webhook_secrets
JOIN users ON users.id = webhook_secrets.user_id
WHERE webhook_secrets.refused = 0 AND webhook_secrets.made_with IS NULL

-- name: unnamed_invites
SELECT id, fingerprint, NULL AS user_uuid, uuid
FROM invites
WHERE made_with IS NULL AND used_at IS NULL AND revoked_at IS NULL

-- name: name_api_keys
UPDATE api_keys SET made_with = :name WHERE id = :id

-- name: name_webhook_secrets
UPDATE webhook_secrets SET made_with = :name WHERE user_id = :id

-- name: name_invites
UPDATE invites SET made_with = :name WHERE id = :id

-- name: users_of_api_keys
SELECT user_id FROM api_keys WHERE refused = 0 AND made_with = :name

-- name: users_of_webhook_secrets
SELECT user_id FROM webhook_secrets WHERE refused = 0 AND made_with = :name

-- name: refuse_api_keys
UPDATE api_keys SET refused = 1 WHERE refused = 0 AND made_with = :name

-- name: refuse_webhook_secrets
UPDATE webhook_secrets SET refused = 1 WHERE refused = 0 AND made_with = :name

-- name: revoke_invites
UPDATE invites SET revoked_at = :now WHERE made_with = :name AND used_at IS NULL AND revoked_at IS NULL

-- name: accept_api_keys
UPDATE api_keys SET refused = 0 WHERE refused = 1 AND made_with = :name

-- name: accept_webhook_secrets
UPDATE webhook_secrets SET refused = 0 WHERE refused = 1 AND made_with = :name

-- name: refused_names
SELECT DISTINCT made_with FROM api_keys WHERE refused = 1
UNION
SELECT DISTINCT made_with FROM webhook_secrets WHERE refused = 1

-- name: delete_resets
DELETE FROM resets

-- name: expire_verifications
UPDATE verifications SET expires_at = :now WHERE expires_at > :now
