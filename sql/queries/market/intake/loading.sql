-- name: companies_by_list_place
SELECT cik FROM companies WHERE list_place IS NOT NULL ORDER BY list_place LIMIT :limit

-- name: ciks_loaded_since
SELECT cik FROM loaded WHERE path = :path AND loaded_at >= :since

-- name: upsert_loaded
INSERT INTO loaded (path, cik, loaded_at) VALUES (:path, :cik, :now)
ON CONFLICT (path, cik) DO UPDATE SET loaded_at = excluded.loaded_at
