-- name: poll_state
SELECT value FROM poll_state WHERE name = :name

-- name: upsert_poll_state
INSERT INTO poll_state (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: delete_poll_state
DELETE FROM poll_state WHERE name = :name

-- name: validator
SELECT etag, last_modified FROM validators WHERE url = :url

-- name: upsert_validator
INSERT INTO validators (url, etag, last_modified) VALUES (:url, :etag, :last_modified)
ON CONFLICT (url) DO UPDATE SET etag = excluded.etag, last_modified = excluded.last_modified
