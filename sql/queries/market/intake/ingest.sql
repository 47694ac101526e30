-- name: upsert_refused_file
INSERT INTO refused_files (path, kind, reason, at) VALUES (?, ?, ?, ?)
ON CONFLICT (path) DO UPDATE SET kind = excluded.kind, reason = excluded.reason, at = excluded.at

-- name: delete_refused_files
DELETE FROM refused_files WHERE path IN (SELECT value FROM json_each(:paths))

-- name: delete_old_refused_files
DELETE FROM refused_files WHERE path IN (SELECT path FROM refused_files WHERE at > '' ORDER BY at DESC, path LIMIT -1 OFFSET :keep)

-- name: refused_files
SELECT path, kind, reason, at FROM refused_files WHERE at > '' ORDER BY at DESC, path LIMIT :limit
